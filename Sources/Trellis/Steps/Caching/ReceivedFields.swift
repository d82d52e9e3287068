import CurlEngine
import HTTPTypes
private import Synchronization

/// The fields of a response that has been received. Those that a cache does not read stay bytes until all are needed: the parsing would
/// take a good part of the time of a miss.
final class ReceivedFields: Sendable {
    private final class Parsed: Sendable {
        let fields: HTTPFields
        init(_ fields: HTTPFields) { self.fields = fields }
    }

    /// The values that decide about the storing and the use of the response.
    let values: DecidingFields
    private let head: ResponseHead
    /// The lengths of the names of the fields that decide, each as a bit.
    private let nameLengths: UInt64
    private let lazy = LazyReference<Parsed>()
    private let lazyDeciding = LazyReference<Parsed>()

    init(_ head: ResponseHead, _ policy: CachePolicy) {
        self.head = head
        nameLengths = Self.decidingLengths(policy)
        let values = DecidingFields(head, nameLengths: nameLengths)
        guard values.mayNameOthers else {
            self.values = values
            return
        }
        let deciding = Self.deciding(head, nameLengths, values)
        self.values = DecidingFields(deciding)
        _ = lazyDeciding.storeIfNil(Parsed(deciding))
    }

    /// The fields that decide about the storing and the use of the response, perhaps with others.
    var deciding: HTTPFields {
        if let known = lazyDeciding.load() { return known.fields }
        return lazyDeciding.storeIfNil(Parsed(Self.deciding(head, nameLengths, values))).fields
    }

    private static func deciding(_ head: ResponseHead, _ nameLengths: UInt64, _ values: DecidingFields) -> HTTPFields {
        let fields = head.headers(nameLengths: nameLengths)
        return values.mayNameOthers ? ConnectionFields.removed(from: fields) : fields
    }

    /// All fields without those that concern only the connection.
    var complete: HTTPFields {
        if let complete = lazy.load() { return complete.fields }
        return lazy.storeIfNil(Parsed(ConnectionFields.removed(from: head.headers))).fields
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
