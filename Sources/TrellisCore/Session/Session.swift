package import CurlEngine
private import FoundationEssentials

/// The entry point of the framework, which sends requests, and shares connections, limits and defaults between them.
///
/// An idle session is cheap: it has no thread before the first request, no wake-ups between requests, and no sockets after their idle
/// lifetime. When the last reference to the session and to its streams is released, its threads and its connections end.
///
/// ```swift
/// let (data, response) = try await Session.default.data("https://example.com/")
/// ```
public final class Session: Sendable {
    /// The session with the default configuration, for the whole process.
    public static let `default` = Session()

    /// The configuration that the session was created with.
    public let configuration: SessionConfiguration
    let engines: SessionEngines
    package let life = SessionLife()
    /// The validations of stored responses for which no caller waits.
    let validations = BackgroundValidations()
    /// The preparation that checks requests and completes them with the configuration's defaults.
    package let preparation: RequestPreparation
    package let clock: any EngineClock
    /// Whether the clock is not the system's.
    let hasOwnClock: Bool
    /// The hub that distributes events to the configuration's monitors and to ``requestEvents``.
    let hub: EventHub
    /// The configuration's steps.
    let steps: AttachedSteps
    /// Whether calls consist of more than an exchange.
    let hasSteps: Bool
    /// The bandwidth limits that all transfers share; `nil` if the configuration has none.
    private let flow: SessionBandwidth?
    /// The observation of the machine's network; `nil` if nothing depends on it.
    private let network: NetworkObservation?

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration.
    ///   - transport: The transport that carries the requests, for tests and for servers in the same process. The default is `nil`:
    ///     libcurl.
    ///   - clock: The clock of every limit on time and of every pause, such as the `TestClock` of `TrellisTesting`. The default is `nil`:
    ///     the system's monotonic clock. libcurl's timers follow the system in any case: pauses between lookups and between addresses of a
    ///     name, and the times that it measures (``Metrics``).
    public convenience init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: (any Transport)? = nil,
        clock: (any Clock<Duration>)? = nil
    ) {
        self.init(
            configuration: configuration, transport: transport, clock: clock?.engineClock ?? MonotonicClock.system)
    }

    /// Creates a session that uses another transport, or libcurl if `nil`, and another clock for its time limits.
    package convenience init(
        configuration: SessionConfiguration, transport: (any Transport)?, clock: any EngineClock
    ) {
        let preparation = RequestPreparation(
            configuration, makesConnections: transport?.makesConnections ?? true)
        let engine = EngineConfiguration(configuration, preparation)
        self.init(configuration, preparing: preparation, clock: clock) { executor in
            transport ?? LibcurlTransport(executor: executor, configuration: engine)
        }
    }

    private init(
        _ configuration: SessionConfiguration, preparing preparation: RequestPreparation, clock: any EngineClock,
        transport: @escaping @Sendable (EngineExecutor) -> any Transport
    ) {
        self.configuration = configuration
        self.clock = clock
        hasOwnClock = !(clock is MonotonicClock)
        self.preparation = preparation
        var all = configuration.steps
        if let step = configuration.eventMonitors.bodyStep { all.network.append(step) }
        steps = AttachedSteps(all)
        hasSteps = !all.isEmpty || all.redirectHandler != nil || configuration.hasUpgrades
        hub = EventHub(monitors: configuration.eventMonitors, bufferSize: configuration.eventBufferSize)
        let life = life
        // The load that adds an engine is measured in real time, which such a clock does not follow.
        let count = hasOwnClock && configuration.engines == .automatic ? .one : configuration.engines
        engines = SessionEngines(count, limits: configuration.limits) { index, onSample in
            let executor = EngineExecutor(clock: clock, onSample: onSample)
            return SessionEngine(index, executor: executor, transport: transport(executor), life: life, clock: clock)
        }
        flow = SessionBandwidth(configuration.bandwidth)
        network = configuration.observeNetwork(preparation.routes)
        resolverUsers?.enter(self)
        clock.follow(self)
    }

    /// The sessions that share the resolver, if it ends with the last one.
    private var resolverUsers: ResolverUsers? { (configuration.resolver as? any ServerResolver)?.users }

    deinit {
        _ = resolverUsers?.leave(self)
        UserObjects.release([configuration, preparation, steps, hub, engines])
        engines.close()
        for engine in engines.all { engine.executor.stop() }
    }

    /// The first engine thread, as an executor.
    var engine: EngineExecutor { engines.first.executor }

    /// The engine thread whose timers serve operations that belong to no request, as an executor. Read at the beginning of each wait.
    package var timekeeper: EngineExecutor { engines.timekeeper.executor }

    /// The actor of the first engine, which knows the operations of several calls.
    var actor: SessionActor { engines.first.actor }

    /// Performs an operation, for whose end a shutdown waits.
    ///
    /// - Throws: The error of a session that accepts no more operations; the errors of `work`.
    package func perform<Value>(
        _ operation: any SessionOperation, work: () async throws -> Value
    ) async throws -> Value {
        guard await actor.begin(operation) else { throw TrellisError.sessionIsShutDown }
        defer { actor.submit { $0.didEnd(operation) } }
        return try await work()
    }

    /// Returns the bandwidth limits of a request, including its session's, if any.
    func flow(of request: Request) -> TransferBandwidth? {
        guard flow != nil || request.extras != nil else { return nil }
        return SessionBandwidth.flow(of: request, in: flow)
    }

    /// The thread of an engine of the session as an executor. A task that prefers this executor needs no thread switch on its way into the
    /// session and back:
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(session.executor) { … }
    /// ```
    ///
    /// Everything else that such a task does delays all other requests of the engine. Keep it short, and never block. Each access returns
    /// the executor of the next of the engines that get new requests at present, so read it once for a task. The requests of the task stay
    /// on that engine, unless the limit on connections to their origin is reached and another engine has an idle one.
    public var executor: any TaskExecutor { engines.next.executor }

    /// The threads of all engines that the session may have (``SessionConfiguration/engines``) as executors, for example for a server with
    /// a group of tasks on each core. Everything else is as for ``executor``. Reading this property creates all of these engines; their
    /// threads start with their first work. After the shutdown, no engine is added, and the executors still run tasks, on threads that
    /// start for them and end with them.
    public var executors: [any TaskExecutor] { engines.complete.map(\.executor) }

    /// Ends the session: refuses new requests, lets requests in flight continue for `grace`, and then ends them with an error of kind
    /// ``TrellisError/Kind/cancelled``.
    ///
    /// Downloads in flight continue with all requests that they still need. So does the refresh of a credential for which a request in
    /// flight waits. A ``WebSocket`` is closed with the code 1001 at the beginning. Returns when all connections are closed, the session's
    /// threads have ended, and the event monitors have handled their events, for at most two seconds. Read ``health`` for progress. Calls
    /// made after `shutdown` produce no events. <doc:ServicesAndShutdown> has the order in a server.
    ///
    /// A task that blocks the thread of an engine (``executor``) delays the shutdown.
    ///
    /// - Parameter grace: The time for which requests in flight may continue. The default is zero.
    public func shutdown(drainingFor grace: Duration = .zero) async {
        await engines.drain(for: grace, life)
        await engines.shutDown()
        await validations.end(within: .seconds(2), on: clock)
        network?.end()
        await configuration.saveUpgrades()
        await hub.finish(within: .seconds(2))
        life.end()
    }
}

extension EngineConfiguration {
    init(_ configuration: SessionConfiguration, _ preparation: RequestPreparation) {
        self.init()
        idleLifetimeSeconds = Int(configuration.limits.idleLifetime.components.seconds)
        // libcurl knows whole seconds, and takes zero for no limit.
        maximumLifetimeSeconds = max(Int(configuration.limits.maximumLifetime.components.seconds), 1)
        maximumConnections = configuration.limits.usable.total
        sendingLimitMilliseconds = Self.sendingLimit(idle: configuration.timeouts.idle)
        connections = ConnectionBudget(
            perOrigin: configuration.limits.perOrigin, total: configuration.limits.total)
        defaultHeaderLines = preparation.defaultLines
        followsNetworkChanges = configuration.followsNetworkChanges
        connectionObserver = configuration.steps.exchangeObserver?.connectionObserver
    }

    /// Returns the time in milliseconds after which the system ends a connection whose peer does not take sent bytes: at least two minutes,
    /// and twice the limit on idle time, because a slow peer may take none for so long. Zero, the system's own limit, if there is none.
    private static func sendingLimit(idle: Duration?) -> UInt32 {
        guard let idle else { return 0 }
        return UInt32(clamping: max(2 * min(idle.components.seconds, Int64(Int32.max)), 120) * 1_000)
    }
}

extension Session {
    /// The number of requests that have not ended; for tests.
    package var liveRequestCount: Int {
        get async {
            var count = 0
            for engine in engines.started { count += await engine.actor.requestCount }
            return count
        }
    }
}
