import CurlEngine
public import FoundationEssentials
private import Synchronization
import TrellisCore

/// A place for the responses of a cache: memory (``MemoryCacheStorage``), a folder (``DiskCacheStorage``), or a storage of your own.
///
/// A storage keeps the entries that it is given and decides nothing about their use. Entries are named by a ``CacheKey`` and
/// ``CachedHead/variant``: a new entry replaces the one with the same names. An error of a storage ends no request: the request is sent,
/// and its response is not stored. Several tasks call a storage at the same time.
public protocol CacheStorage: Sendable {
    /// Returns all entries of a key, which counts as their use.
    ///
    /// - Throws: Any error; the request is then sent, and its response is not stored.
    func entries(for key: CacheKey) async throws -> [CacheEntry]

    /// Begins an entry. Nothing of it is visible before ``CacheWriter/commit()``.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - head: The head of the response.
    ///   - length: The length of the body in bytes, if it is known.
    /// - Throws: Any error; the response is then not stored.
    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) async throws -> any CacheWriter

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    ///
    /// - Parameters:
    ///   - entry: The entry as it was read.
    ///   - key: The key of the entry.
    ///   - head: The new head.
    /// - Throws: Any error; the entry keeps its head.
    func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async throws

    /// Removes an entry, unless the entry has been removed or replaced.
    ///
    /// - Throws: Any error; the cache then does not use the entry.
    func remove(_ entry: CacheEntry, for key: CacheKey) async throws

    /// Removes all entries of a key.
    ///
    /// - Throws: Any error; the cache then does not use the entries.
    func removeEntries(for key: CacheKey) async throws

    /// Removes all entries.
    ///
    /// - Throws: Any error; the cache then uses nothing that is stored.
    func removeAll() async throws

    /// The keys that have entries, in any order. Entries that are added or removed meanwhile may or may not be among them.
    var keys: AsyncThrowingStream<CacheKey, any Error> { get }

    /// The number of entries, and of their bytes.
    ///
    /// - Throws: Any error, which the caller of ``HTTPCache`` gets.
    var usage: CacheUsage { get async throws }
}

/// The number of the entries of a ``CacheStorage``, and of their bytes.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries.
    public var count: Int
    /// The number of bytes of all entries, with what the storage needs besides their bodies.
    public var size: Int64

    /// Creates the numbers of a storage's entries and bytes.
    public init(count: Int, size: Int64) {
        self.count = count
        self.size = size
    }
}

/// A response in a ``CacheStorage``.
public struct CacheEntry: Sendable {
    /// The name of the entry within its key, as the storage has it. It changes when the entry is replaced.
    public var id: String { storage.name ?? String(storage.number) }
    /// The head of the response, with the facts about its request that decide whether it can be reused.
    public var head: CachedHead { storage.head }
    /// The body as it was received, in its content coding. Of a partial response (206), the part.
    public var body: any CachedBody { storage.body }
    // A single reference, because an entry is passed on often.
    private let storage: Storage

    /// Creates an entry.
    public init(id: String, head: CachedHead, body: any CachedBody) {
        self.init(id: id, head: head, body: body, size: 0)
    }

    /// - Parameter size: The number of bytes that a storage in memory counts for the entry.
    init(id: String, head: CachedHead, body: any CachedBody, size: Int) {
        storage = Storage(name: id, number: 0, head: head, body: body, memoryBody: nil, size: size)
    }

    /// Creates an entry whose name is a number, which becomes a text when it is needed: few entries are updated or removed by their name.
    ///
    /// - Parameter size: The number of bytes that a storage in memory counts for the entry.
    init(number: UInt64, head: CachedHead, body: MemoryBody, size: Int) {
        storage = Storage(name: nil, number: number, head: head, body: body, memoryBody: body, size: size)
    }

    /// The body if it is in memory; `nil` if it is elsewhere.
    var memoryBody: MemoryBody? { storage.memoryBody ?? body as? MemoryBody }

    /// The head, with what follows from it under the rules of the first cache that has asked.
    private final class Storage: Sendable {
        /// The name of the entry; `nil` if it is the number.
        let name: String?
        let number: UInt64
        let head: CachedHead
        let body: any CachedBody
        /// The body, if it is known to be in memory: to find that out takes longer than most of what a hit does.
        let memoryBody: MemoryBody?
        let size: Int
        let facts = LazyReference<CacheFacts>()

        init(
            name: String?, number: UInt64, head: CachedHead, body: any CachedBody, memoryBody: MemoryBody?, size: Int
        ) {
            (self.name, self.number, self.head) = (name, number, head)
            (self.body, self.memoryBody, self.size) = (body, memoryBody, size)
        }
    }

    /// The number of bytes that a storage in memory counts for the entry.
    var size: Int { storage.size }

    /// The text of the head's variant.
    var variant: String { storage.head.variant }

    /// Returns what follows from the head under the rules of a cache.
    func facts(_ rules: Boxed<CachePolicy>) -> CacheFacts {
        if let known = storage.head.facts, known.follow(from: rules) { return known }
        if let known = storage.facts.load(), known.follow(from: rules) { return known }
        let facts = CacheFacts(storage.head, rules)
        _ = storage.facts.storeIfNil(facts)
        return facts
    }
}

/// The body of a stored response, which stays readable when its entry is replaced or removed.
public protocol CachedBody: Sendable {
    /// The number of bytes.
    var length: Int64 { get }

    /// Returns the bytes of a range within the body.
    ///
    /// - Throws: Any error, for example because the bytes are damaged; the entry is then removed.
    func bytes(in range: Range<Int64>) async throws -> Data
}

/// The writer of an entry. It is called by one task at a time, and not after ``commit()`` or ``discard()``.
public protocol CacheWriter: Sendable {
    /// Adds bytes to the body.
    ///
    /// - Throws: Any error, for example because the body is too large; the entry is then discarded.
    func write(_ bytes: Data) async throws

    /// Makes the entry visible, instead of the one with the same key and variant.
    ///
    /// - Throws: Any error; the response is then not stored.
    func commit() async throws

    /// Drops the entry.
    func discard() async
}
