import CurlEngine
import Synchronization

/// One engine of a session: its thread, its transport and the actor that knows its requests.
final class SessionEngine: Sendable {
    /// The engine as its exchanges use it.
    let site: ExchangeEngine
    /// The requests that began on the engine.
    let actor: SessionActor

    var executor: EngineExecutor { site.executor }

    init(
        _ index: Int, executor: EngineExecutor, transport: any Transport, life: SessionLife, clock: any EngineClock
    ) {
        let list = ExchangeList()
        actor = SessionActor(executor: executor, life: life, list: list)
        site = ExchangeEngine(
            index: index, executor: executor, transport: transport, registry: actor, list: list)
    }
}

/// The engines of a session, and the choice of an engine for each request.
///
/// A session begins with one engine, or with a fixed number. With ``EngineCount/automatic``, engines are added while all of them are busy
/// and processors are idle, and are kept; when there is less to do, new requests go to the first ones, and the others sleep.
package final class SessionEngines: Sendable {
    /// The first engine. Operations that belong to no request use its thread.
    let first: SessionEngine
    /// The admission of exchanges to connections, for all engines.
    let admission: ConnectionAdmission
    private let maximum: Int
    private let make: @Sendable (_ index: Int, _ onSample: (@Sendable (Double) -> Void)?) -> SessionEngine
    private let list: Locked<[SessionEngine]>
    /// The number of engines that get new requests, as it follows from their samples.
    let scaling: EngineScaler
    /// Whether there is more than one engine.
    private let isSpread = Atomic(false)
    private let isClosed = Atomic(false)
    private let handOuts = Atomic<Int>(0)

    /// Creates the engines.
    ///
    /// - Parameter make: Creates one engine.
    init(
        _ count: EngineCount, limits: ConnectionLimits,
        make: @escaping @Sendable (_ index: Int, _ onSample: (@Sendable (Double) -> Void)?) -> SessionEngine
    ) {
        let scaling = EngineScaler(count)
        let admission = ConnectionAdmission(limits: limits)
        first = make(0, scaling.observer(of: 0))
        admission.add(first.site)
        self.scaling = scaling
        self.admission = admission
        self.make = make
        maximum = count.maximum
        list = Locked([first])
        scaling.setEngines(self)
        grow(to: count.initial)
        admission.activate(count.initial)
    }

    /// The engine whose timers serve operations that belong to no request: the first one, unless the system refuses its thread.
    var timekeeper: SessionEngine { instead(of: first) }

    /// Returns an engine, or one with a thread if the system refuses that engine a thread.
    private func instead(of engine: SessionEngine) -> SessionEngine {
        engine.executor.isRefused ? started.first { !$0.executor.isRefused } ?? engine : engine
    }

    /// The engines that exist.
    var all: [SessionEngine] { list.withLock { $0 } }

    /// The engines, one for each that the session may have.
    var complete: [SessionEngine] {
        grow(to: maximum)
        return all
    }

    /// The engine whose executor is handed out to the next user, in turn.
    var next: SessionEngine {
        let active = all.prefix(admission.activeCount)
        return active[handOuts.add(1, ordering: .relaxed).oldValue % active.count]
    }

    /// Ends the threads of all engines, and waits for their ends. All are told before the first one has ended.
    func shutDown() async {
        let engines = all
        for engine in engines { engine.executor.stop() }
        for engine in engines { await engine.executor.shutDown() }
    }

    /// Returns the engine that exchanges know as `site`.
    func engine(_ site: ExchangeEngine) -> SessionEngine {
        site === first.site ? first : list.withLock { $0[site.index] }
    }

    /// Sets the number of engines that get new requests, and creates engines if there are fewer.
    func activate(_ count: Int) {
        grow(to: count)
        admission.activate(count)
    }

    /// Lets an engine count as busy until an instant on the system's clock; `nil` if it is not busy.
    fileprivate func setBusy(_ index: Int, until end: EngineInstant?) {
        let engine: SessionEngine? = list.withLock { $0.indices.contains(index) ? $0[index] : nil }
        engine?.site.setBusy(until: end)
    }

    /// Adds no more engines from now on.
    func close() {
        isClosed.store(true, ordering: .releasing)
        scaling.close()
    }

    /// The engine on whose thread the caller runs, if any.
    private var ownEngine: SessionEngine? {
        first.executor.isCurrent ? first : all.first { $0.executor.isCurrent }
    }

    private func grow(to count: Int) {
        list.withLock { list in
            while list.count < count, !isClosed.load(ordering: .acquiring) {
                let engine = make(list.count, scaling.observer(of: list.count))
                admission.add(engine.site)
                list.append(engine)
            }
            if list.count > 1 { isSpread.store(true, ordering: .releasing) }
        }
    }

    /// Returns the engine on which a request to an origin begins: the calling task's, if the task prefers an executor of the session and
    /// the limits of the origin leave room for connections there, and otherwise the one with an idle connection or with least to do.
    ///
    /// - Parameter origin: The queue of the request; `nil` if it is not known yet.
    func engine(for origin: @autoclosure () -> String?) -> SessionEngine {
        guard maximum > 1 else { return first }
        let isSpread = isSpread.load(ordering: .acquiring)
        if CallingThread.isEngine {
            if !isSpread, first.executor.isCurrent { return first }
            if isSpread, let own = ownEngine {
                let mayUseAll = maximum <= admission.enginesPerOrigin
                return mayUseAll ? own : engine(admission.engine(for: origin(), preferred: own.site.index))
            }
        }
        return isSpread ? instead(of: engine(admission.engine(for: origin()))) : first
    }
}

/// The connection between the samples of the engines and the policy that adds engines.
final class EngineScaler: Sendable {
    private struct State {
        var policy: EngineScaling
        /// The engines, until the scaler is closed; `nil` if their number is fixed.
        var engines: SessionEngines?
    }

    private let state: Locked<State>
    private let isFixed: Bool
    /// Returns the idle time of the processors so far; `nil` if it is not known.
    private let idleTime: @Sendable () -> Duration?

    init(_ count: EngineCount, idleTime: @escaping @Sendable () -> Duration? = ProcessorTime.idle) {
        self.idleTime = idleTime
        state = Locked(State(policy: EngineScaling(count)))
        isFixed = count.initial == count.maximum
    }

    /// Sets the engines. They and the scaler keep each other in memory until the scaler is closed.
    func setEngines(_ engines: SessionEngines) { state.withLock { $0.engines = isFixed ? nil : engines } }

    /// Leaves the number of engines as it is from now on.
    func close() {
        // Released without the lock.
        _ = state.withLock { $0.engines.take() }
    }

    /// Returns the receiver of an engine's samples; `nil` if the number of engines is fixed.
    func observer(of engine: Int) -> (@Sendable (Double) -> Void)? {
        guard !isFixed else { return nil }
        return { [self] share in sample(share, of: engine, at: MonotonicClock.now()) }
    }

    /// Records the share of the time in which an engine was busy, and changes the number of engines if that follows. New requests leave
    /// engines that are busy for others.
    func sample(_ share: Double, of engine: Int, at now: EngineInstant) {
        // The time takes long to read.
        let needsIdleTime = state.withLock { $0.engines != nil && $0.policy.needsIdleTime(share, of: engine) }
        let idleTime = needsIdleTime ? idleTime() : nil
        state.withLock { state in
            guard let engines = state.engines else { return }
            if let count = state.policy.sample(share, of: engine, at: now, idleTime: idleTime) {
                engines.activate(count)
            }
            engines.setBusy(engine, until: state.policy.busyEnd(of: engine))
        }
    }
}
