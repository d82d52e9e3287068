import CurlEngine
import Synchronization

/// One engine of a session, as its exchanges use it.
final class ExchangeEngine: Sendable {
    /// The number of the engine in its session; the first is zero.
    let index: Int
    let executor: EngineExecutor
    let executorReference: ExecutorReference
    /// The transport that performs the exchanges on the engine.
    let transport: any Transport
    /// The record of the exchanges that began on the engine, and of their calls.
    let registry: any ExchangeRegistry
    /// The exchanges that began on the engine.
    let list: ExchangeList
    /// The number of exchanges that got a slot on the engine.
    private let admitted = Atomic<Int>(0)
    /// The instant on the system's clock, in nanoseconds, until which the engine counts as busy; zero if it does not.
    private let busyEnd = Atomic<UInt64>(0)

    init(
        index: Int, executor: EngineExecutor, transport: any Transport, registry: any ExchangeRegistry,
        list: ExchangeList
    ) {
        self.index = index
        self.executor = executor
        executorReference = executor.executorReference
        self.transport = transport
        self.registry = registry
        self.list = list
    }

    /// The number of exchanges that got a slot on the engine so far.
    var admittedCount: Int { admitted.load(ordering: .relaxed) }

    /// Counts an exchange that got a slot.
    func countAdmitted() { admitted.add(1, ordering: .relaxed) }

    /// Whether the thread of the engine is busy most of its time, as far as that is measured.
    var isBusy: Bool {
        let end = busyEnd.load(ordering: .relaxed)
        // The clock is read only for engines that are busy, or were so at their last sample.
        return end > 0 && MonotonicClock.now().nanoseconds < end
    }

    /// Lets the engine count as busy until an instant on the system's clock; `nil` if it is not busy.
    func setBusy(until end: EngineInstant?) { busyEnd.store(end?.nanoseconds ?? 0, ordering: .relaxed) }

    /// Sets the closure that gets the numbers of connections by origin that have changed; `nil` when the engine has closed all connections
    /// after their idle lifetime, and the closure that says whether a number of shared connections to an origin may be in use.
    func onCount(
        _ body: @escaping @Sendable ([String: TransportCount]?) -> Void,
        mayAdd: @escaping @Sendable (String, Int) -> Bool
    ) { transport.onCount(body, mayAdd: mayAdd) }

    /// Closes an idle connection to an origin, or all idle ones if `origin` is `nil`, and then calls `body`.
    func closeIdleConnections(to origin: String?, then body: @escaping @Sendable () -> Void = {}) {
        // An engine that has not started has no connections, and is not started for this.
        guard executor.hasStarted else { return body() }
        executor.submit { [transport] in
            transport.closeIdleConnections(to: origin)
            body()
        }
    }

    /// Closes the idle connections to an origin by some routes, and the others after their request.
    func retireConnections(to origin: String, by routes: Set<Int>) {
        guard executor.hasStarted else { return }
        executor.submit { [transport] in transport.retireConnections(to: origin, by: routes) }
    }
}

/// The record of the exchanges of one engine, called on the engine thread.
protocol ExchangeRegistry: AnyObject, Sendable {
    /// Adds an exchange that requests its first slot. Returns `false` if the session accepts no more exchanges.
    func add(_ exchange: ExchangeActor) -> Bool
    /// Removes an exchange that has ended.
    ///
    /// - Parameter wasAdded: Whether the exchange was added.
    func didEnd(_ exchange: ExchangeActor, wasAdded: Bool)
}
