import CurlEngine
public import FoundationEssentials
private import Synchronization

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
/// makes it fresh again. Equal requests wait for the response to the first of them. Bodies are stored as they were received, and their
/// content codings are removed when they are read. Responses are stored when their bodies have been read completely.
/// ``Request/cacheMode`` decides for a request.
///
/// In the cache of one user, the responses to requests with different credentials (`Authorization`) are separate, and so are those to
/// requests with another destination than the host of their URL (``Route``). Sessions with different client certificates, or with
/// different rules for the trust in servers, must have different caches.
public final class HTTPCache: Sendable {
    /// The storage of the responses. The default is a ``MemoryCacheStorage``.
    public let storage: any CacheStorage
    /// The policy, which says what is stored and reused. The default is that of the cache of one user.
    public let policy: CachePolicy
    /// The exchanges that are under way.
    let exchanges = CacheExchanges()
    /// The requests for whose responses others wait.
    let flights = CacheFlights()
    private let date: @Sendable () -> Date
    private let state = Locked(State())
    /// The number of hits, which are too frequent for a lock that all threads share.
    private let hitCount = Atomic(0)

    private struct State {
        var statistics = CacheStatistics()
        /// Indicates whether the last writing operation of the storage has failed.
        var isFailing = false
    }

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - storage: The storage of the responses.
    ///   - policy: The policy, which says what is stored and reused.
    ///   - now: Returns the present date; for tests.
    public init(
        storage: any CacheStorage = MemoryCacheStorage(), policy: CachePolicy = CachePolicy(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.storage = storage
        self.policy = policy
        date = now
    }

    /// The numbers of requests by the use of the cache, since it was created.
    public var statistics: CacheStatistics {
        var statistics = state.withLock { $0.statistics }
        statistics.hitCount = hitCount.load(ordering: .relaxed)
        return statistics
    }

    /// Removes the responses to a URL, for all credentials.
    ///
    /// - Throws: The errors of the storage. A URL that cannot be requested has no responses.
    public func remove(_ url: some URLConvertible) async throws {
        guard let text = try? url.asURLString(), let url = try? WireURL(parsing: text) else { return }
        let key = CacheKey(url: url.canonicalText)
        exchanges.invalidate(key)
        try await storage.removeEntries(for: key)
        try await removeAll { $0.url.hasSameBytes(as: key.url) }
    }

    /// Removes the responses whose keys meet a condition: `cache.removeAll { $0.url.hasPrefix("https://example.com/") }`.
    ///
    /// - Throws: The errors of the storage.
    public func removeAll(where isRemoved: (CacheKey) -> Bool) async throws {
        exchanges.invalidate(where: isRemoved)
        for try await key in storage.keys where isRemoved(key) { try await storage.removeEntries(for: key) }
    }

    /// Removes all responses. The responses to requests that are under way are not stored.
    ///
    /// - Throws: The errors of the storage.
    public func removeAll() async throws {
        exchanges.invalidate { _ in true }
        try await storage.removeAll()
    }

    var now: CacheTime { CacheTime(date()) }

    // MARK: Statistics

    /// Counts a request whose cache status is known.
    func record(_ status: CacheStatus) {
        if status.isHit {
            hitCount.add(1, ordering: .relaxed)
        } else {
            state.withLock { $0.statistics.count(status) }
        }
    }

    /// Records the result of a writing operation. Returns whether it has failed, and the one before it had not.
    func recordWriting(_ failure: (any Error)?) -> Bool {
        state.withLock { state in
            defer { state.isFailing = failure != nil }
            if failure == nil { state.statistics.storedCount += 1 } else { state.statistics.failureCount += 1 }
            return failure != nil && !state.isFailing
        }
    }
}

/// The numbers of requests by their use of an ``HTTPCache``.
public struct CacheStatistics: Sendable, Hashable {
    /// The number of responses that were used without a request.
    public internal(set) var hitCount = 0
    /// The number of requests that were sent, apart from those of ``validatedCount``.
    public internal(set) var missCount = 0
    /// The number of requests that the server answered with 304, so that a stored response was used.
    public internal(set) var validatedCount = 0
    /// The number of requests that waited for the response to an equal one, and used it.
    public internal(set) var collapsedCount = 0
    /// The number of stale responses that were used in place of a failure.
    public internal(set) var staleCount = 0
    /// The number of responses that were stored.
    public internal(set) var storedCount = 0
    /// The number of failures of the storage.
    public internal(set) var failureCount = 0

    /// Counts a request whose response is not a hit.
    fileprivate mutating func count(_ status: CacheStatus) {
        if status.isCollapsed {
            collapsedCount += 1
        } else if status.isStaleIfError {
            staleCount += 1
        } else if status.forwardStatus == 304 {
            validatedCount += 1
        } else if status.forwardReason != nil {
            missCount += 1
        }
    }
}
