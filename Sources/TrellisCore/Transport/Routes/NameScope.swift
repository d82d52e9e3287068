import CurlEngine
import Synchronization

/// The addresses of names for the requests of a task, and of the tasks that it creates, apart from those that sessions keep.
///
/// A task whose requests use another transport than their sessions has a scope: a resolver that asks a server by HTTP asks that transport
/// then, and the sessions' own requests must not be sent to the addresses that it has returned.
final class NameScope: Sendable {
    /// The scope of the current task, if any.
    @TaskLocal private static var ofTask: NameScope?

    /// Whether the process has had a scope. Before the first one, a lookup costs one comparison.
    private static let isUsed = Atomic(false)

    /// The addresses used instead of a session's.
    private struct Place {
        /// The session's own addresses, kept so that their identity stays their own.
        let owner: ResolverCache
        let names: ResolverCache
    }

    private let places = Locked<[ObjectIdentifier: Place]>([:])

    /// Returns the addresses of the current task instead of a session's.
    static func names(inPlaceOf own: ResolverCache) -> ResolverCache {
        guard isUsed.load(ordering: .relaxed), let scope = ofTask else { return own }
        return scope.places.withLock { places in
            let place = places[ObjectIdentifier(own)] ?? Place(owner: own, names: own.emptyCopy())
            places[ObjectIdentifier(own)] = place
            return place.names
        }
    }

    /// Runs an operation with a scope; without one if `scope` is `nil`.
    static func with<Result>(_ scope: NameScope?, _ operation: () async throws -> Result) async rethrows -> Result {
        isUsed.store(true, ordering: .relaxed)
        return try await $ofTask.withValue(scope) { try await operation() }
    }
}
