import CurlEngine
import TrellisCore

/// A storage that several processes share, over a network.
package protocol SharedCacheStorage: CacheStorage {
    /// Returns the storage for the cache with a policy, which says how long a response is of use, and whether it is one user's.
    func bound(to policy: CachePolicy) -> any SharedCacheStorage

    /// Begins the visit of a request that does not look at the entries, but may store its response: notes what has been invalidated up to
    /// now in ``StorageVisit``.
    ///
    /// - Throws: Any error; the response is then not stored.
    func beginVisit(for key: CacheKey) async throws

    /// Asks for the turn of the requests for a variant of a key, of all processes.
    ///
    /// - Parameter variant: The name of the requests that are equal (``CacheLookup/nameOfEquals(among:)``).
    /// - Throws: Any error; the request is then sent.
    func turn(for key: CacheKey, variant: String?) async throws -> SharedTurn

    /// Returns whether another process has the turn.
    ///
    /// - Throws: Any error; the request is then sent.
    func isTurnTaken(for key: CacheKey, variant: String?) async throws -> Bool
}

/// The turn of equal requests of several processes: one of them asks the origin.
package enum SharedTurn: Sendable {
    /// This process has the turn, until it gives the turn back, or for some seconds.
    case ours(giveBack: @Sendable () -> Void)
    /// Another process has it.
    case others
}

/// What one request has to do with a storage that several processes share.
package final class StorageVisit: Sendable {
    /// The visit of the request that the present task works for, if it has one.
    @TaskLocal package static var current: StorageVisit?

    private struct State {
        var waited = Duration.zero
        var mark: Int64?
    }

    private let state = Locked(State())

    /// Creates a visit.
    package init() {}

    /// The time that the request has waited for the storage.
    package var waited: Duration { state.withLock { $0.waited } }

    /// Adds to the time that the request has waited.
    package func add(_ duration: Duration) { state.withLock { $0.waited += duration } }

    /// The storage's mark of the time before the request was sent: what was invalidated later must not be stored. `nil` if it is not known.
    package var mark: Int64? { state.withLock { $0.mark } }

    /// Notes the mark, unless there is an earlier one.
    package func note(_ mark: Int64) { state.withLock { $0.mark = min($0.mark ?? mark, mark) } }
}

/// An error that says that a response is not suited for a storage. It is no failure of the storage.
package protocol CacheRefusal: Error {}

extension CachedHead {
    /// Returns the time from its reception for which a response is of use: as long as it is fresh, as long as it may be used stale
    /// (RFC 5861; ``CachePolicy/maximumStaleness``), and if it can be validated, for `validation` at least after its freshness.
    package func useful(under policy: CachePolicy, validation: Duration) -> Duration {
        let facts = CacheFacts(self, Boxed(policy))
        let age = facts.age(at: facts.head.responseTime) ?? 0
        let fresh = Duration.milliseconds(max(facts.rest(atAge: age), 0))
        let directives = facts.freshness.directives
        let stale = [CacheDirective.staleWhileRevalidate, .staleIfError].map {
            Duration.seconds(directives.seconds($0).number ?? 0)
        }
        return fresh + max(stale.max() ?? .zero, policy.maximumStaleness, facts.hasValidator ? validation : .zero)
    }

    /// Whether the response says that it is for one user (RFC 9111, section 5.2.2.7).
    package var saysPrivate: Bool { stored.values.directives.contains(.private) }
}
