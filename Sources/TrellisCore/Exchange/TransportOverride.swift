import CurlEngine
import Synchronization

/// A transport that takes the place of the sessions' own transports for the requests of a task, and of the tasks that it creates. Tests use
/// an override for code whose session they cannot replace.
///
/// A request is in an override if it was made there, however late it is sent: a handle keeps the override of the task that has made it. The
/// requests of an override share no connections and no addresses with others, so that requests of other tests do not delay them. Their
/// limits have the numbers of their session.
package final class TransportOverride: Sendable {
    /// The override of the current task; `nil` if there is none.
    @TaskLocal private static var ofTask: TransportOverride?

    /// Whether the process has had an override. Before the first one, a request costs one comparison. The flag stays set, because
    /// a task may outlive the operation that created it.
    private static let isUsed = Atomic(false)

    /// The transport of the requests.
    package let transport: any Transport
    /// The addresses of the names that the requests need.
    private let names = NameScope()
    private let places = Locked<[ObjectIdentifier: Place]>([:])

    /// The place of one session's exchanges.
    private struct Place {
        /// The session's own admission, kept so that its identity stays its own.
        let owner: ConnectionAdmission
        let admission: ConnectionAdmission
        /// The session's engines with the other transport, by number.
        var engines: [Int: ExchangeEngine] = [:]
    }

    private init(_ transport: any Transport) { self.transport = transport }

    /// The override of the current task; `nil` if there is none.
    package static var current: TransportOverride? {
        @inline(__always) get { isUsed.load(ordering: .relaxed) ? ofTask : nil }
    }

    /// Runs an operation whose requests use a transport, in any session.
    package static func with<Result>(
        _ transport: any Transport, _ operation: () async throws -> Result
    ) async rethrows -> Result {
        isUsed.store(true, ordering: .relaxed)
        return try await bind(TransportOverride(transport), operation)
    }

    /// Runs an operation whose requests use the transports of their sessions, also within an override.
    package static func withoutTransport<Result>(
        _ operation: () async throws -> Result
    ) async rethrows -> Result {
        try await with(nil, operation)
    }

    /// Runs an operation with the override of the task that has made its request; without one if `override` is `nil`.
    package static func with<Result>(
        _ override: TransportOverride?, _ operation: () async throws -> Result
    ) async rethrows -> Result {
        if override === current { return try await operation() }
        return try await bind(override, operation)
    }

    private static func bind<Result>(
        _ override: TransportOverride?, _ operation: () async throws -> Result
    ) async rethrows -> Result {
        try await $ofTask.withValue(override) {
            try await NameScope.with(override?.names) { try await operation() }
        }
    }

    /// Returns the engine and the admission of an exchange that would otherwise use its session's.
    ///
    /// The admission has no engines, and counts connections as in a session with one engine.
    @inline(never)
    func place(
        on engine: ExchangeEngine, _ owner: ConnectionAdmission, _ limits: ConnectionLimits
    ) -> (ExchangeEngine, ConnectionAdmission) {
        places.withLock { places in
            let key = ObjectIdentifier(owner)
            var place = places[key] ?? Place(owner: owner, admission: ConnectionAdmission(limits: limits))
            let own =
                place.engines[engine.index]
                ?? ExchangeEngine(
                    index: engine.index, executor: engine.executor, transport: transport, registry: engine.registry,
                    list: engine.list)
            place.engines[engine.index] = own
            places[key] = place
            return (own, place.admission)
        }
    }
}
