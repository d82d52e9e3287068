import CurlEngine
import HTTPTypes
private import Synchronization

/// The fields of a response that has been received. Those that a cache does not read stay bytes until all are needed: the parsing would
/// take a good part of the time of a miss.
final class ReceivedFields: Sendable {
    private final class Complete: Sendable {
        let fields: HTTPFields
        init(_ fields: HTTPFields) { self.fields = fields }
    }

    /// The fields that decide about the storing and the use of the response, perhaps with others.
    let deciding: HTTPFields
    /// The values of these fields.
    let values: DecidingFields
    private let head: ResponseHead
    private let lazy = LazyReference<Complete>()

    init(_ head: ResponseHead, _ policy: CachePolicy) {
        self.head = head
        let fields = head.headers(nameLengths: Self.decidingLengths(policy))
        let values = DecidingFields(fields)
        let deciding = values.mayNameOthers ? ConnectionFields.removed(from: fields) : fields
        self.deciding = deciding
        self.values = values.mayNameOthers ? DecidingFields(deciding) : values
    }

    /// All fields without those that concern only the connection.
    var complete: HTTPFields {
        if let complete = lazy.load() { return complete.fields }
        return lazy.storeIfNil(Complete(ConnectionFields.removed(from: head.headers))).fields
    }

    /// The number of bytes that the fields take in memory, about.
    var size: Int { 2 * head.fieldSize }

    /// Returns the lengths of the names that decide, each as a bit.
    private static func decidingLengths(_ policy: CachePolicy) -> UInt64 {
        policy.targetedFieldNames.reduce(ownLengths) { lengths, name in
            lengths | UInt64(1) << UInt64(min(name.canonicalName.utf8.count, 63))
        }
    }

    private static let ownLengths = [
        "age", "cache-control", "connection", "content-encoding", "content-location", "content-range", "date", "etag",
        "expires", "last-modified", "location", "vary",
    ].reduce(UInt64(0)) { $0 | UInt64(1) << UInt64($1.utf8.count) }
}
