import CurlEngine
import HTTPTypes
private import Synchronization
import TrellisCore

/// The fields of a response that has been received. They stay bytes until they are needed: the parsing would take a good part of the time
/// of a miss.
final class ReceivedFields: Sendable {
    /// The facts that decide about the storing and the use of the response.
    let values: CacheHeaders
    private let head: ResponseHead
    /// The lengths of the names of the fields that decide, each as a bit.
    private let nameLengths: UInt64
    private let lazy = LazyReference<Boxed<HTTPFields>>()
    private let lazyDeciding = LazyReference<Boxed<HTTPFields>>()

    /// - Parameters:
    ///   - nameLengths: The lengths of the names of the fields that decide (``cacheHeaderLengths(_:)``).
    ///   - now: The instant at which the head was received.
    init(_ head: ResponseHead, nameLengths: UInt64, now: CacheTime) {
        self.head = head
        self.nameLengths = nameLengths
        if let wire = head.wireFields, let values = CacheHeaders(wire) {
            self.values = values
            return
        }
        var deciding = head.headers(nameLengths: nameLengths)
        var values = CacheHeaders(deciding, now: now)
        if values.mayNameOthers {
            deciding = ConnectionFields.removed(from: deciding)
            values = CacheHeaders(deciding, now: now)
        }
        self.values = values
        _ = lazyDeciding.storeIfNil(Boxed(deciding))
    }

    /// The fields that decide about the storing and the use of the response, perhaps with others.
    var deciding: HTTPFields {
        if let known = lazyDeciding.load() { return known.value }
        return lazyDeciding.storeIfNil(Boxed(head.headers(nameLengths: nameLengths))).value
    }

    /// All fields without those that concern only the connection.
    var complete: HTTPFields {
        if let complete = lazy.load() { return complete.value }
        return lazy.storeIfNil(Boxed(ConnectionFields.removed(from: head.headers))).value
    }

    /// The length of the body, if the fields have one that is valid.
    var length: Int64? {
        let framing = head.headers(nameLengths: Self.framingLengths)
        return framing.contains(.transferEncoding) ? nil : framing.single(.contentLength).flatMap { Int64($0) }
    }

    /// The number of bytes that the fields take in memory, about.
    var size: Int { 2 * head.fieldSize }

    /// Returns the lengths of the names of the fields that decide under the rules of a cache, each as a bit.
    static func cacheHeaderLengths(_ policy: CachePolicy) -> UInt64 {
        policy.targetedFieldNames.reduce(ownLengths) { lengths, name in
            lengths | UInt64(1) << UInt64(min(name.canonicalName.utf8.count, 63))
        }
    }

    private static let framingLengths = lengths(["content-length", "transfer-encoding"])

    private static let ownLengths = lengths([
        "age", "cache-control", "connection", "content-encoding", "content-location", "content-range", "date", "etag",
        "expires", "last-modified", "location", "vary",
    ])

    private static func lengths(_ names: [String]) -> UInt64 {
        names.reduce(0) { $0 | UInt64(1) << UInt64($1.utf8.count) }
    }
}
