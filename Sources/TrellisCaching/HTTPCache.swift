import CurlEngine
public import FoundationEssentials
private import Synchronization
import TrellisCore

/// A cache of responses (RFC 9111), which sessions share if they have the same one.
///
/// ```swift
/// configuration.cache = HTTPCache()                                          // in memory, for one user
/// configuration.cache = HTTPCache(policy: CachePolicy(sharing: .shared))     // for many users
/// let (data, response) = try await session.data(url)
/// response.cacheStatus                                                             // trellis; hit; ttl=30
/// ```
///
/// A fresh stored response is used without a request. A stale one is validated: the origin is asked whether it is still valid, and a 304
/// makes it fresh again. Equal requests wait for the response to the first of them. Bodies are stored as they were received, and their
/// content codings are removed when they are read. Responses are stored when their bodies have been read completely.
/// ``Request/cacheMode`` decides for a request.
///
/// In the cache of one user, the responses to requests with different secrets are separate, and so are responses over different routes
/// (``Route``). Sessions with different client certificates, cookie jars of different users, or different rules of trust must have
/// different caches. <doc:Caching> has the rules.
public final class HTTPCache: Sendable {
    /// The storage of the responses. The default is a ``MemoryCacheStorage``.
    public let storage: any CacheStorage
    /// The policy, which says what is stored and reused. The default is the policy for one user.
    public let policy: CachePolicy
    /// The policy, by whose identity facts that follow from it are found without a comparison.
    let rules: Boxed<CachePolicy>
    /// The storage, if it is one in memory, which does not wait.
    let memory: MemoryCacheStorage?
    /// The exchanges that are under way, and the requests that wait for their responses.
    let exchanges = CacheExchanges()
    /// The keys whose stored responses are not used, because they could not be removed.
    let invalidKeys = InvalidKeys()
    /// The lengths of the names of the fields that decide about a response, each as a bit.
    let cacheHeaderLengths: UInt64
    private let date: @Sendable () -> Date
    /// The numbers that are not counted below.
    private let rareCounts = Locked(CacheStatistics())
    // These numbers change too often for a lock that all threads share.
    private let hitCount = Atomic(0)
    private let missCount = Atomic(0)
    private let storedCount = Atomic(0)
    private let failureCount = Atomic(0)
    /// Whether the last writing operation of the storage has failed.
    private let isFailing = Atomic(false)
    /// Whether the last search of the storage has failed.
    private let isUnreadable = Atomic(false)

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
        self.storage = (storage as? any SharedCacheStorage)?.bound(to: policy) ?? storage
        memory = storage as? MemoryCacheStorage
        self.policy = policy
        rules = Boxed(policy)
        cacheHeaderLengths = ReceivedFields.cacheHeaderLengths(policy)
        date = now
    }

    /// The storage, if several processes share it.
    var shared: (any SharedCacheStorage)? { memory == nil ? storage as? any SharedCacheStorage : nil }

    /// The numbers of requests by the use of the cache, since it was created.
    public var statistics: CacheStatistics {
        var statistics = rareCounts.withLock { $0 }
        statistics.hitCount = hitCount.load(ordering: .relaxed)
        statistics.missCount = missCount.load(ordering: .relaxed)
        statistics.storedCount = storedCount.load(ordering: .relaxed)
        statistics.failureCount = failureCount.load(ordering: .relaxed)
        return statistics
    }

    // MARK: Removing

    /// Removes the responses to a URL, for all secrets. Those that the storage cannot remove are not used.
    ///
    /// - Throws: The errors of the storage. A URL that cannot be requested has no responses.
    public func remove(_ url: some URLConvertible) async throws {
        guard let text = try? url.asURLString(), let url = try? WireURL(parsing: text) else { return }
        let key = CacheKey(url: url.canonicalText)
        exchanges.invalidate(key)
        let failure = await removeInvalid(key)
        try await removeAll { $0.url.hasSameBytes(as: key.url) }
        if let failure { throw failure }
    }

    /// Removes the responses whose keys meet a condition: `cache.removeAll { $0.url.hasPrefix("https://example.com/") }`. Those that the
    /// storage cannot remove are not used.
    ///
    /// - Throws: The errors of the storage, `CancellationError` in a cancelled task.
    public func removeAll(where isRemoved: (CacheKey) -> Bool) async throws {
        exchanges.invalidate(where: isRemoved)
        var failure: (any Error)?
        for try await key in storage.keys where isRemoved(key) {
            if let error = await removeInvalid(key) { failure = failure ?? error }
        }
        if let failure { throw failure }
        try Task.checkCancellation()
    }

    /// Removes all responses. The responses to requests that are under way are not stored. Those that the storage cannot remove are not
    /// used.
    ///
    /// - Throws: The errors of the storage.
    public func removeAll() async throws {
        exchanges.invalidate { _ in true }
        let mark = invalidKeys.lastMark
        do {
            try await storage.removeAll()
        } catch {
            await invalidateRest()
            throw error
        }
        invalidKeys.removeAll(upTo: mark)
    }

    private func invalidateRest() async {
        do { for try await key in storage.keys { invalidKeys.insert(key) } } catch { invalidKeys.insertAll() }
    }

    /// Removes the stored responses of a key, which are no longer valid. If the storage fails, they are not used until it has removed
    /// them. Returns the failure; `nil` if there was none.
    func removeInvalid(_ key: CacheKey) async -> (any Error)? {
        let mark = invalidKeys.lastMark
        do {
            try await storage.removeEntries(for: key)
            invalidKeys.remove(key, upTo: mark)
            return nil
        } catch {
            invalidKeys.insert(key)
            return error
        }
    }

    /// Removes a stored response that is no longer valid. If the storage fails, no response of the key is used until all of them have been
    /// removed. Returns the failure; `nil` if there was none.
    func removeInvalid(_ entry: CacheEntry, for key: CacheKey) async -> (any Error)? {
        do {
            try await storage.remove(entry, for: key)
            return nil
        } catch {
            invalidKeys.insert(key)
            return error
        }
    }

    /// Removes a response that was stored although an invalidation or a newer response of its variant had come. Responses to requests
    /// that began at least a second later stay: one of them may have taken its place since. If the storage fails, no response of the key is
    /// used until all of them have been removed. Returns the failure; `nil` if there was none.
    func removeLate(_ head: CachedHead, for key: CacheKey) async -> (any Error)? {
        let sent = head.stored.requestTime
        do {
            // A storage may keep whole seconds.
            for entry in try await storage.entries(for: key)
            where entry.variant.hasSameBytes(as: head.variant)
                && entry.head.stored.requestTime.milliseconds(since: sent) < 1000
            {
                try await storage.remove(entry, for: key)
            }
            return nil
        } catch {
            invalidKeys.insert(key)
            return error
        }
    }

    /// Returns whether the stored responses of a key may be used. Those that could not be removed before are removed if that is possible,
    /// unless there are too many of them.
    func mayUse(_ key: CacheKey) async -> Bool {
        guard invalidKeys.contains(key) else { return true }
        guard !invalidKeys.areAll else { return false }
        return await removeInvalid(key) == nil
    }

    var now: CacheTime { CacheTime(date()) }

    // MARK: Statistics

    /// Counts a request whose cache status is known.
    func record(_ status: CacheStatus) {
        if status.isHit {
            hitCount.add(1, ordering: .relaxed)
        } else if status.isMiss {
            missCount.add(1, ordering: .relaxed)
        } else {
            rareCounts.withLock { $0.count(status) }
        }
    }

    /// Records that a response was stored.
    func recordStoring() {
        storedCount.add(1, ordering: .relaxed)
        if isFailing.load(ordering: .relaxed) { isFailing.store(false, ordering: .relaxed) }
    }

    /// Records a failure of the storage. Returns whether the operation before it had not failed. A body that is too large for a storage
    /// of the framework's is no failure.
    func recordFailure(_ error: any Error) -> Bool {
        if error is any CacheRefusal { return false }
        failureCount.add(1, ordering: .relaxed)
        // One event is enough for a storage that can be neither read nor written.
        if isUnreadable.load(ordering: .relaxed) { return false }
        return !isFailing.exchange(true, ordering: .relaxed)
    }

    /// Records that the storage was searched for the responses to a URL.
    func recordSearch() {
        if isUnreadable.load(ordering: .relaxed) { isUnreadable.store(false, ordering: .relaxed) }
    }

    /// Records that a search of the storage has failed. Returns whether the operation before it had not failed.
    func recordFailedSearch() -> Bool {
        failureCount.add(1, ordering: .relaxed)
        if isFailing.load(ordering: .relaxed) { return false }
        return !isUnreadable.exchange(true, ordering: .relaxed)
    }
}

/// The numbers of requests by their use of an ``HTTPCache``.
public struct CacheStatistics: Sendable, Hashable {
    /// The number of responses that were used without a request.
    public internal(set) var hitCount = 0
    /// The number of requests that were sent, except those in ``validatedCount``.
    public internal(set) var missCount = 0
    /// The number of requests that the server answered with 304, so that a stored response was used.
    public internal(set) var validatedCount = 0
    /// The number of requests that waited for the response to an equal one, and used it.
    public internal(set) var coalescedCount = 0
    /// The number of stale responses that were used instead of a failure.
    public internal(set) var staleCount = 0
    /// The number of responses that were stored.
    public internal(set) var storedCount = 0
    /// The number of failures of the storage.
    public internal(set) var failureCount = 0

    /// Counts a request whose response is neither a hit nor a miss.
    fileprivate mutating func count(_ status: CacheStatus) {
        if status.isCoalesced {
            coalescedCount += 1
        } else if status.isStaleIfError {
            staleCount += 1
        } else if status.isValidated {
            validatedCount += 1
        }
    }
}
