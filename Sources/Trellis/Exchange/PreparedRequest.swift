import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A request that has been checked and completed with its session's defaults: everything the exchange needs.
final class PreparedRequest: Sendable {
    /// A body that is pulled while it is sent.
    struct StreamedBody: Sendable {
        let length: Int64?
        /// The chunks can be made a second time.
        let isReplayable: Bool
        /// The file that the chunks are the bytes of, for transports that read files themselves.
        var file: String?
        let chunks: RequestBody.Chunks
    }

    /// The number of the call in its process.
    let callID: UInt64
    let transportRequest: TransportRequest
    let streamedBody: StreamedBody?
    let limits: TimeLimits
    let maximumBodySize: ByteLimit
    /// When the call was made.
    let start: EngineInstant
    /// A handle was made, which is started later: its time begins then.
    let isDeferred: Bool
    /// How long the body waits for the server's word, in nanoseconds; `nil`: it does not.
    let continueWait: UInt64?
    /// What came before it in its call; `nil` for the first attempt of a call without steps.
    let history: AttemptHistory?

    init(
        transportRequest: TransportRequest, streamedBody: StreamedBody?, limits: TimeLimits, maximumBodySize: ByteLimit,
        start: EngineInstant, isDeferred: Bool = false, continueWait: UInt64? = nil,
        history: AttemptHistory? = nil, callID: UInt64 = 0
    ) {
        self.transportRequest = transportRequest
        self.streamedBody = streamedBody
        self.limits = limits
        self.maximumBodySize = maximumBodySize
        self.start = start
        self.isDeferred = isDeferred
        self.continueWait = continueWait
        self.history = history
        self.callID = callID
    }

    var method: HTTPRequest.Method { transportRequest.request.method }
    var url: String { transportRequest.url }
    var origin: String { transportRequest.wire.url.origin }

    /// Requests with the same one share connections and limits: an origin, and the protocols that may be used, because
    /// an HTTP/1.1 request must not be counted as a stream of the HTTP/2 connections beside it.
    var queue: String {
        switch transportRequest.wire.version {
        case .http2OverTLS, .http3WithFallback: origin
        case .http1: origin + " HTTP/1.1"
        case .http2PriorKnowledge: origin + " HTTP/2"
        case .http3Only: origin + " HTTP/3"
        }
    }

    /// The request can be one of many on a connection.
    var mayShareConnection: Bool {
        switch transportRequest.wire.version {
        case .http2OverTLS, .http3WithFallback: transportRequest.wire.url.scheme == "https"
        case .http1: false
        case .http2PriorKnowledge, .http3Only: true
        }
    }
}
