import CurlEngine
import HTTPTypes

/// The key of a request: requests with equal keys would get the same response, so that one response serves all callers that ask
/// at the same time.
///
/// Requests with a key are safe and have no body, and the key contains everything that can make a difference to the response.
/// Limits on time are included: a caller that waits for the response to another request must not wait longer than for its own.
/// Credentials are fields like others, if they are part of the request. The key does not contain the fields that adapters add
/// later: ``RequestCoalescing`` adds the epoch of the credentials that it knows.
struct CoalescingKey: Hashable, Sendable {
    private let method: String
    private let url: TextBytes
    /// The fields by name; fields of the same name in their order.
    private let fields: [TextBytes]
    private let timeouts: Timeouts?
    private let httpVersion: HTTPVersionPolicy?
    private let maximumBodySize: ByteLimit?
    private let decodesContent: Bool?
    /// An urgent request does not wait for the place of another one in a queue.
    private let priority: RequestPriority
    /// Another endpoint may respond otherwise.
    private let endpointKey: TextBytes?

    /// Creates the key of a request; `nil` if the request must be sent separately.
    init?(_ request: Request) {
        guard request.method == .get || request.method == .head, request.body == nil else { return nil }
        // A request that cannot be sent must not get the response to another one.
        guard request.headers.invalidName == nil else { return nil }
        method = request.method.rawValue
        // The fragment is not sent.
        url = TextBytes(request.url.prefix(beforeBytes: "#"))
        fields = request.headers.enumerated().sorted { left, right in
            let (leftName, rightName) = (left.element.name.canonicalName, right.element.name.canonicalName)
            return leftName == rightName ? left.offset < right.offset : leftName < rightName
        }.map { TextBytes("\($0.element.name.canonicalName):\($0.element.value)") }
        timeouts = request.timeouts
        httpVersion = request.httpVersion
        maximumBodySize = request.maximumBodySize
        decodesContent = request.decodesContent
        priority = request.priority
        endpointKey = request.endpointKey.map { TextBytes($0) }
    }
}
