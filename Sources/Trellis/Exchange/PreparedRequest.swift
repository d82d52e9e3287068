import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A request that has been checked and completed with its session's defaults: everything the exchange needs.
struct PreparedRequest: Sendable {
    /// A body that is pulled while it is sent.
    struct StreamedBody: Sendable {
        let length: Int64?
        /// The chunks can be made a second time.
        let isReplayable: Bool
        let chunks: RequestBody.Chunks
    }

    let transportRequest: TransportRequest
    let streamedBody: StreamedBody?
    let timeouts: Timeouts
    let maximumBodySize: ByteLimit
    /// When the call was made.
    let start: EngineInstant

    var method: HTTPRequest.Method { transportRequest.request.method }
    var url: String { transportRequest.url }
    /// Requests with the same one share connections and limits.
    var origin: String { transportRequest.wire.url.origin }
}
