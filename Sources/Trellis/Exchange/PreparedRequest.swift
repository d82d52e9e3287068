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
        let chunks: RequestBody.Chunks
    }

    let transportRequest: TransportRequest
    let streamedBody: StreamedBody?
    let limits: TimeLimits
    let maximumBodySize: ByteLimit
    /// When the call was made.
    let start: EngineInstant
    /// A handle was made, which is started later.
    let isDeferred: Bool

    init(
        transportRequest: TransportRequest, streamedBody: StreamedBody?, limits: TimeLimits, maximumBodySize: ByteLimit,
        start: EngineInstant, isDeferred: Bool = false
    ) {
        self.transportRequest = transportRequest
        self.streamedBody = streamedBody
        self.limits = limits
        self.maximumBodySize = maximumBodySize
        self.start = start
        self.isDeferred = isDeferred
    }

    var method: HTTPRequest.Method { transportRequest.request.method }
    var url: String { transportRequest.url }
    /// Requests with the same one share connections and limits.
    var origin: String { transportRequest.wire.url.origin }
}
