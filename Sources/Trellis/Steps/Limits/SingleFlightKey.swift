import CurlEngine
import HTTPTypes

/// Tells which requests would get the same answer, so that one answer can do for all who ask at the same time.
///
/// They are safe, have no body, and are equal in everything that can make a difference to the answer, limits on time included:
/// who waits for another's answer must not wait longer than for its own. Credentials are fields like others, and so an answer
/// is never shared between users.
struct SingleFlightKey: Hashable, Sendable {
    private let method: String
    private let url: TextBytes
    /// By name, those of one name in their order.
    private let fields: [TextBytes]
    private let timeouts: Timeouts?
    private let httpVersion: HTTPVersionPolicy?
    private let maximumBodySize: ByteLimit?
    private let decodesContent: Bool?

    /// `nil` for a request that is to be sent for itself.
    init?(_ request: Request) {
        guard request.method == .get || request.method == .head, request.body == nil else { return nil }
        method = request.method.rawValue
        // The fragment is not sent.
        url = TextBytes(request.url.prefix(beforeBytes: "#"))
        fields = request.headerFields.enumerated().sorted { left, right in
            let (leftName, rightName) = (left.element.name.canonicalName, right.element.name.canonicalName)
            return leftName == rightName ? left.offset < right.offset : leftName < rightName
        }.map { TextBytes("\($0.element.name.canonicalName):\($0.element.value)") }
        timeouts = request.timeouts
        httpVersion = request.httpVersion
        maximumBodySize = request.maximumBodySize
        decodesContent = request.decodesContent
    }
}
