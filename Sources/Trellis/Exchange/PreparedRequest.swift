import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A request that was checked and completed with its session's defaults, with everything that its exchange needs.
final class PreparedRequest: Sendable {
    /// A body whose chunks are produced while it is sent.
    struct StreamedBody: Sendable {
        /// The length of the body in bytes; `nil` if not known.
        let length: Int64?
        /// Indicates whether the chunks can be produced a second time.
        let isReplayable: Bool
        /// The path of the file that has the same bytes as the chunks, for transports that read files themselves; `nil` if the body is not
        /// a file.
        var file: String?
        let chunks: RequestBody.Chunks
    }

    /// The number of the call within its process.
    let callID: UInt64
    let transportRequest: TransportRequest
    let streamedBody: StreamedBody?
    /// The time limits of the request.
    let limits: TimeLimits
    /// The limit on the decoded body of the response.
    let maximumBodySize: ByteLimit
    /// The instant at which the call was made.
    let start: EngineInstant
    /// Indicates whether the request belongs to a handle, whose time limits begin when the handle is started.
    let isDeferred: Bool
    /// The time for which the body waits for the server's permission (`Expect: 100-continue`), in nanoseconds; `nil` if it does not wait.
    let expectContinueTimeout: UInt64?
    /// The earlier attempts and redirects of the call; `nil` if this is the first exchange of a call without steps.
    let history: AttemptHistory?

    init(
        transportRequest: TransportRequest, streamedBody: StreamedBody?, limits: TimeLimits, maximumBodySize: ByteLimit,
        start: EngineInstant, isDeferred: Bool = false, expectContinueTimeout: UInt64? = nil,
        history: AttemptHistory? = nil, callID: UInt64 = 0
    ) {
        self.transportRequest = transportRequest
        self.streamedBody = streamedBody
        self.limits = limits
        self.maximumBodySize = maximumBodySize
        self.start = start
        self.isDeferred = isDeferred
        self.expectContinueTimeout = expectContinueTimeout
        self.history = history
        self.callID = callID
    }

    var method: HTTPRequest.Method { transportRequest.source.method }
    var url: String { transportRequest.url }
    var origin: String { transportRequest.wire.url.origin }

    /// The name of the queue whose requests share connections and limits: an origin, with the protocols that may be used. An HTTP/1.1
    /// request must not be counted as a stream of the HTTP/2 connections to the same origin.
    var queue: String {
        switch transportRequest.wire.version {
        case .http2OverTLS, .http3WithFallback: origin
        case .http1: origin + " HTTP/1.1"
        case .http2PriorKnowledge: origin + " HTTP/2"
        case .http3Only: origin + " HTTP/3"
        }
    }

    /// Indicates whether the request can share its connection with others.
    var mayShareConnection: Bool {
        switch transportRequest.wire.version {
        case .http2OverTLS, .http3WithFallback: transportRequest.wire.url.isSecure
        case .http1: false
        case .http2PriorKnowledge, .http3Only: true
        }
    }
}
