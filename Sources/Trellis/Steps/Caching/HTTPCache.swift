import CurlEngine
public import FoundationEssentials

/// A cache of responses (RFC 9111), which sessions share if they have the same one.
///
/// ```swift
/// configuration.steps.cache = HTTPCache()                                          // in memory, for one user
/// configuration.steps.cache = HTTPCache(policy: CachePolicy(sharing: .shared))     // for many users
/// let (data, response) = try await session.data(url)
/// response.cacheStatus                                                             // trellis; hit; ttl=30
/// ```
///
/// A fresh stored response is used without a request. A stale one is validated: the origin is asked whether it is still valid, and a 304
/// makes it fresh again. Bodies are stored as they were received, and their content codings are removed when they are read. Responses are
/// stored when their bodies have been read completely. ``Request/cacheMode`` decides for a request.
public final class HTTPCache: Sendable {
    /// The place for the responses.
    public let storage: any CacheStorage
    /// The rules.
    public let policy: CachePolicy
    private let date: @Sendable () -> Date

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - storage: The place for the responses; memory by default.
    ///   - policy: The rules; those of the cache of one user by default.
    ///   - now: Returns the present date; for tests.
    public init(
        storage: any CacheStorage = MemoryCacheStorage(), policy: CachePolicy = CachePolicy(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.storage = storage
        self.policy = policy
        date = now
    }

    /// Removes the responses to a URL.
    ///
    /// - Throws: The errors of the URL's conversion and of the storage.
    public func remove(_ url: some URLConvertible) async throws {
        guard let key = try? WireURL(parsing: try url.asURLString()).text else { return }
        try await storage.removeEntries(for: key)
    }

    /// Removes all responses.
    public func removeAll() async throws { try await storage.removeAll() }

    var now: CacheTime { CacheTime(date()) }
}
