public import FoundationEssentials

/// A place for the responses of a cache: memory (``MemoryCacheStorage``), or a storage of your own.
///
/// A storage keeps what it is given and decides nothing about its use. Entries are named by a key, which is the URL of the request without
/// its fragment, and ``CachedHead/variant``: a new entry replaces the one with the same names. An error of a storage ends no request: the
/// request is sent, and its response is not stored.
public protocol CacheStorage: Sendable {
    /// Returns all entries of a key.
    func entries(for key: String) async throws -> [CacheEntry]

    /// Begins an entry. Nothing of it is visible before ``CacheWriter/commit()``.
    ///
    /// - Parameter length: The length of the body if it is known.
    func makeWriter(for key: String, _ head: CachedHead, length: Int64?) async throws -> any CacheWriter

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    func update(_ entry: CacheEntry, for key: String, to head: CachedHead) async throws

    /// Removes all entries of a key.
    func removeEntries(for key: String) async throws

    /// Removes all entries.
    func removeAll() async throws
}

/// A response in a ``CacheStorage``.
public struct CacheEntry: Sendable {
    /// The name of the entry within its key, as the storage has it.
    public let id: String
    /// The head.
    public let head: CachedHead
    /// The body as it was received, in its content coding.
    public let body: any CachedBody

    /// Creates an entry.
    public init(id: String, head: CachedHead, body: any CachedBody) {
        self.id = id
        self.head = head
        self.body = body
    }
}

/// The body of a stored response, which stays readable when its entry is replaced or removed.
public protocol CachedBody: Sendable {
    /// The number of bytes.
    var length: Int64 { get }

    /// Returns the bytes of a range within the body.
    func bytes(in range: Range<Int64>) async throws -> Data
}

/// The writer of an entry. It is called by one task at a time.
public protocol CacheWriter: Sendable {
    /// Adds bytes to the body.
    ///
    /// - Throws: Any error, for example because the body is too large; the entry is then discarded.
    func write(_ bytes: Data) async throws

    /// Makes the entry visible, in place of the one with the same key and variant.
    func commit() async throws

    /// Drops the entry.
    func discard() async
}
