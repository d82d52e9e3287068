package import CurlEngine
import FoundationEssentials

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
    /// The engines of the session.
    package let engines: SessionEngines
    /// The life of the session, which its engines share.
    package let life = SessionLife()
    /// The validations of stored responses for which no caller waits.
    let validations = BackgroundValidations()
    /// The preparation that checks requests and completes them with the configuration's defaults.
    package let preparation: RequestPreparation
    /// The changes of requests because of earlier responses of their hosts.
    let upgrades: Upgrades
    /// The clock of time limits and waits.
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
    /// The origins with several endpoints; `nil` if there are none.
    let endpoints: EndpointTable?
    /// The connections that are kept open.
    let keepers: [ConnectionKeeper]

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration.
    ///   - transport: The transport that carries the requests, for tests and for servers in the same process. The default is `nil`:
    ///     the session's engines.
    ///   - clock: The clock of every limit on time and of every pause, such as the `TestClock` of `TrellisTesting`. The default is `nil`:
    ///     the system's monotonic clock. The timers of the network follow the system in any case: pauses between lookups and between
    ///     addresses of a name, the time for the excerpt of a stream that is refused, and the times that are measured (``Metrics``).
    public convenience init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: (any Transport)? = nil,
        clock: (any Clock<Duration>)? = nil
    ) {
        self.init(
            configuration: configuration, transport: transport, clock: clock?.engineClock ?? MonotonicClock.system)
    }

    /// Creates a session that uses another transport, or its engines if `nil`, and another clock for its time limits.
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
        upgrades = Upgrades(configuration, preparation)
        var all = configuration.steps
        if let step = configuration.eventMonitors.bodyStep { all.network.append(step) }
        steps = AttachedSteps(all)
        hasSteps =
            !all.isEmpty || all.redirectHandler != nil || upgrades.exist
            || !configuration.endpoints.isEmpty
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
        let endpoints = EndpointTable(configuration, engines, routes: preparation.routes, clock: clock)
        self.endpoints = endpoints
        // A session with fewer connections than it can have would look for lost ones without end.
        keepers = configuration.keptConnections.filter { endpoints?.contains($0.key) != true }.map {
            ConnectionKeeper($0, count: configuration.limits.allowed($1))
        }
        resolverUsers?.enter(self)
        clock.follow(self)
        for keeper in keepers { keeper.begin(in: self) }
    }

    /// The sessions that share the resolver, if it ends with the last one.
    private var resolverUsers: ResolverUsers? { (configuration.resolver as? any ServerResolver)?.users }

    deinit {
        _ = resolverUsers?.leave(self)
        for keeper in keepers { keeper.end() }
        endpoints?.end()
        UserObjects.release([configuration, preparation, steps, hub, engines, endpoints])
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
        for keeper in keepers { keeper.end() }
        await engines.drain(for: grace, life)
        endpoints?.end()
        await engines.shutDown()
        await validations.end(within: .seconds(2), on: clock)
        network?.end()
        await upgrades.save()
        await hub.finish(within: .seconds(2), on: clock)
        life.end()
    }
}

/// What a session knows about its requests and its engines.
extension Session {
    /// The requests of the session that have not ended, in the order of their creation. The list includes requests that wait for a
    /// connection, a limit or a step, but not handles that were not started. No engine is asked, so that one that is late does not delay
    /// the list.
    public var liveRequests: [LiveRequest] {
        get async { live.values.sorted { $0.callID < $1.callID } }
    }

    /// The requests that have not ended, by the number of their call.
    private var live: [UInt64: LiveRequest] {
        let (now, engines) = (clock.now(), engines.all)
        var live: [UInt64: LiveRequest] = [:]
        for engine in engines {
            for call in engine.actor.calls.live { live[call.id] = LiveRequest(call, now: now) }
            for call in engine.actor.calls.all { live[call.call.id] = LiveRequest(call.call, now: now) }
        }
        for exchange in engines.flatMap(\.site.list.all) where live[exchange.prepared.callID] == nil {
            live[exchange.prepared.callID] = LiveRequest(exchange.prepared, now: now)
        }
        return live
    }

    /// Cancels all requests of the session that have not ended, including downloads. The session stays open for new requests.
    ///
    /// The readers of a cancelled request get an error of kind ``TrellisError/Kind/cancelled``. No request that waits for a connection is
    /// sent any more. Returns when the requests have ended, however many there are. A task that blocks an engine's thread delays that
    /// until it returns.
    public func cancelAllRequests() async { await engines.cancelAll(TrellisError(.cancelled(.explicitly))) }

    /// The state of the session. No engine is asked, so that one that is late delays nothing. Counting the requests of a session
    /// that drains takes a time in proportion to their number.
    public var health: SessionHealth {
        guard life.isShutDown else { return .running }
        return life.hasEnded ? .ended : .draining(requests: live.count)
    }

    /// The counters of the session's engines, in the order of their creation, even if they were not used: all engines of a fixed number,
    /// or else those that were added, by load or by reading ``executors``. The counters can be read after the shutdown too.
    public var engineStatistics: [EngineStatistics] { engines.all.map { EngineStatistics($0.site) } }

    /// The endpoints of the session's origins that have several (``SessionConfiguration/endpoints``), in the order of the origins and then
    /// as their sources name them. An origin whose source has named none yet has none here.
    public var endpointStates: [EndpointState] {
        (endpoints?.all ?? []).flatMap { group in group.members.map { EndpointState($0, of: group.origin) } }
    }

    /// The events of the requests that are made from now on, for as long as they are read. Any number of observers can read them; each gets
    /// all events. A handle that was made while the session had no observer gives none, even if it starts later.
    ///
    /// ```swift
    /// let events = session.requestEvents
    /// Task { for await event in events { print(event.callID, event.kind) } }
    /// ```
    ///
    /// A reader that is slower than the session loses the oldest events beyond ``SessionConfiguration/eventBufferSize``, and learns
    /// their number (``RequestEvent/Kind/eventsDropped(_:)``). The sequence ends with its session, after its last event:
    /// at the end of ``shutdown(drainingFor:)``, or with the last reference to the session.
    public var requestEvents: RequestEvents { RequestEvents(hub.subscribe()) }

    /// The number of events that were dropped because an observer was too slow: the sum for all monitors of the session and of its
    /// requests, and for all readers of ``requestEvents``.
    public var droppedEventCount: Int { hub.droppedCount }

    /// The number of events that were dropped for each monitor of ``SessionConfiguration/eventMonitors``, in their order, because the
    /// monitor was too slow. Can be read after the shutdown too.
    public var droppedEventCounts: [Int] { hub.droppedCounts }

    /// The number of requests that have not ended; for tests.
    package var liveRequestCount: Int {
        get async {
            var count = 0
            for engine in engines.started { count += await engine.actor.requestCount }
            return count
        }
    }
}

/// The creation of calls by the verbs and handles. A verb's call whose steps do not wait is a ``Pipeline`` in the caller's task. Any other
/// call is a ``RequestActor`` with a pipeline.
extension Session {
    /// Sends a request and returns its response with the complete body.
    ///
    /// - Parameters:
    ///   - make: Creates the request. The call's time is measured from before that.
    ///   - conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    func answer(
        _ make: @autoclosure () throws -> Request, _ conditions: ReadingConditions? = nil
    ) async throws -> Answer {
        switch try send(make, .memory, for: conditions) {
        case .here(let pipeline):
            let answer = try await pipeline.performHere()
            return Answer(answer, answer.data ?? Data(), observer: pipeline.call.observer)
        case .actor(let call): return try await call.runCollecting(conditions)
        }
    }

    /// Sends a request and returns the complete body of its response, and the response, without what else a reader needs.
    func dataAndResponse(_ make: @autoclosure () throws -> Request) async throws -> (Data, Response) {
        switch try send(make, .memory) {
        case .here(let pipeline):
            let answer = try await pipeline.performHere()
            return (answer.data ?? Data(), answer.response)
        case .actor(let call): return try await call.runCollecting(nil).pair
        }
    }

    /// Sends a request and returns as soon as the head of its response has come.
    ///
    /// - Parameter isInFlight: Whether the call belongs to a download that the session knows, so that it is sent even while the
    ///   session drains.
    package func open(_ make: @autoclosure () throws -> Request, isInFlight: Bool = false) async throws
        -> StreamResponse
    {
        switch try send(make, .stream, isInFlight: isInFlight) {
        case .here(let pipeline): StreamResponse(try await pipeline.performHere())
        case .actor(let call): StreamResponse(try await call.run())
        }
    }

    /// Sends a request that asks the server to switch protocols, on an HTTP/1.1 connection of its own, with all steps of the session and of
    /// the request: adapters, authentication, redirects, retries, cookies, proxies, limits. The cache and alternative services are not
    /// used.
    ///
    /// The limits of time apply to the handshake; they end with a response of status 101, and a limit in total is the default one unless
    /// the request has its own.
    ///
    /// - Parameters:
    ///   - request: The request, without a body. The scheme `ws` stands for `http`, and `wss` for `https` (RFC 6455, section 3). Its fields
    ///     `Upgrade` and `Connection` are replaced.
    ///   - name: The name of the protocol for the field `Upgrade`.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
    package func switchProtocols(to name: String, _ request: Request) async throws -> ProtocolSwitch {
        let start = clock.now()
        let answer = try await makeRequest(request.asking(for: name), .connection, start: start).run()
        return try await ProtocolSwitch(answer, timekeeper: timekeeper)
    }

    /// The call of a verb.
    private enum Sending {
        /// The call waits for its exchanges alone, in the caller's task.
        case here(Pipeline)
        case actor(RequestActor)
    }

    /// Makes a request and its call. Separate from the functions that wait, so that a call that waits keeps none of these values in its
    /// frame.
    @inline(never)
    private func send(
        _ make: () throws -> Request, _ delivery: Delivery, for conditions: ReadingConditions? = nil,
        isInFlight: Bool = false
    ) throws -> Sending {
        let start = clock.now()
        let request = try make()
        let steps = joined(self.steps, request)
        guard mayPerformHere(request, steps) else {
            return .actor(makeRequest(request, delivery, start: start, isInFlight: isInFlight, steps: steps))
        }
        let limit = preparation.limits(of: request, delivery: delivery).total
        let call = makeCall(
            request, delivery, with: steps, on: engines.first, start: start, limit: limit, beganWithoutActor: true)
        // A session that has been shut down sends what the calls in its list still need.
        if isInFlight { actor.calls.add(call) }
        return .here(Pipeline(call, steps, for: conditions, session: self))
    }

    /// Returns whether a call waits for nothing but its exchanges, so that it needs no separate task.
    func mayPerformHere(_ request: Request, _ steps: AttachedSteps) -> Bool {
        guard !steps.immediate.mayWait, !request.waitsForDisk, !preparation.mustWait(for: request, clock),
            !upgrades.mustPrepare, endpoints?.mayWait != true
        else { return false }
        // Code of the user's does not run on an engine thread.
        return !steps.immediate.hasUserCode || !CallingThread.isEngine
    }

    /// Returns the steps of a call: the session's or an operation's, followed by the request's.
    private func joined(_ outer: AttachedSteps, _ request: Request) -> AttachedSteps {
        request.attachedSteps.map { AttachedSteps(outer, followedBy: $0) } ?? outer
    }

    /// Creates a request for a handle, which starts it later. Throws the error of an invalid request at once if no step can correct it, and
    /// no observer would get it.
    func deferredRequest(_ request: Request, delivery: Delivery = .memory) throws -> RequestActor {
        if delivery == .memory, request.attachment == nil, !hasSteps, !hub.isObserved {
            try preparation.checkBeforeStart(request)
        }
        let record = Locked(CallRecord())
        record.withLock { $0.exchanges = [] }
        return makeRequest(request, delivery, record: record)
    }

    /// Creates a request with its steps. The request is not started.
    ///
    /// - Parameters:
    ///   - start: The instant at which the call was made; if `nil`, the call's time is measured from its start.
    ///   - record: The call's record.
    ///   - isInFlight: Whether the call belongs to a download or a call that the session knows.
    ///   - steps: The steps of the session and of the request; if `nil`, they are joined here.
    @inline(never)
    func makeRequest(
        _ request: Request, _ delivery: Delivery, start: EngineInstant? = nil, record: Locked<CallRecord>? = nil,
        isInFlight: Bool = false, steps: AttachedSteps? = nil
    ) -> RequestActor {
        let steps = steps ?? joined(self.steps, request)
        let limit = preparation.limits(of: request, delivery: delivery).total
        let engine = engines.engine(for: preparation.queue(of: request))
        let call = makeCall(request, delivery, with: steps, on: engine, start: start, limit: limit, record: record)
        return RequestActor(call, session: self, engine: engine, steps: steps, isInFlight: isInFlight)
    }

    /// Creates a call, and sends its first event.
    private func makeCall(
        _ request: Request, _ delivery: Delivery, with steps: AttachedSteps, on engine: SessionEngine,
        start: EngineInstant?, limit: UInt64?, record: Locked<CallRecord>? = nil, beganWithoutActor: Bool = false
    ) -> Call {
        let id = Call.nextID()
        let call = Call(
            request, id: id, delivery: delivery, start: start, limit: limit, engine: engine.executor, clock: clock,
            sender: self, observer: observer(ofCall: id, request), exchangeObserver: steps.steps.exchangeObserver,
            isHedged: steps.steps.hedging != nil, beganWithoutActor: beganWithoutActor, record: record)
        call.observer?.tell(.created(request))
        return call
    }

    /// Returns the observer of a call; `nil` if neither the session nor the request has observers.
    private func observer(ofCall id: UInt64, _ request: Request) -> CallObserver? {
        let monitors = request.eventMonitors
        guard hub.isObserved || !monitors.isEmpty else { return nil }
        // If the URL is invalid, the call itself throws the error.
        let completed = (try? preparation.completingURL(of: request)) ?? request
        return CallObserver(hub: hub, id: id, request: completed, monitors: monitors, clock: clock)
    }

    func sharedCall(for request: Request, _ steps: AttachedSteps, depth: Int) -> SharedCall {
        var request = request
        // Each of the waiting calls has its own total limit.
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = nil
        request.timeouts = timeouts
        if !request.eventMonitors.isEmpty { request.eventMonitors = [] }
        let engine = engines.engine(for: preparation.queue(of: request))
        let shared = RequestActor(
            makeCall(request, .memory, with: steps, on: engine, start: nil, limit: nil),
            session: self, engine: engine, steps: steps, depth: depth, isInFlight: true)
        return SharedCall(id: shared.call.id) { try await shared.answer() }
    }

    /// Sends a request in the background, as an operation of the session's own, which ends with it.
    ///
    /// It has the limit in time of a response in memory: nobody waits for it who could cancel it.
    ///
    /// - Parameters:
    ///   - receive: Receives the response. It does not run after a failure.
    ///   - end: Is called when the operation has ended, in whatever way.
    ///   - revoke: Forbids that anything of the response is stored, if the session ends before the operation.
    package func validateInBackground(
        _ request: Request, _ steps: Steps, receive: @escaping @Sendable (StepResponse, CallContext) async -> Void,
        end: @escaping @Sendable () -> Void, revoke: @escaping @Sendable () -> Void
    ) {
        var request = request
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = preparation.limits(of: request, delivery: .memory).total.map { .nanoseconds($0) }
        request.timeouts = timeouts
        request.attachment = nil
        let call = makeRequest(
            request, .stream, start: clock.now(), isInFlight: true, steps: joined(AttachedSteps(steps), request))
        let work = { @Sendable in
            if let answer = try? await call.run() { await receive(answer, CallContext(call.call)) }
            end()
        }
        validations.begin(in: actor, work, revoke: revoke)
    }

    /// Creates the actor of a call that began without one. A session that drains lets it continue.
    ///
    /// - Parameter end: The end of the attempt after which the call continues.
    func makeRequest(continuing call: Call, _ steps: AttachedSteps, after end: AttemptEnd) -> RequestActor {
        let earlier = end.last.value is Call ? nil : end.context
        let engine = engines.engine(for: preparation.queue(of: call.request))
        return RequestActor(call, session: self, engine: engine, steps: steps, after: earlier)
    }

    /// Creates an exchange that has not started.
    ///
    /// - Parameter call: The call of the exchange, on whose engine it is created; if `nil`, the session chooses an engine.
    func makeExchange(
        _ prepared: PreparedRequest, of call: RequestActor? = nil, readers: (any HeadValidator)? = nil
    ) -> ExchangeActor {
        let engine = call?.engine ?? engines.engine(for: prepared.wire.queue)
        let (site, admission) =
            TransportOverride.current?.place(on: engine.site, engines.admission, configuration.limits)
            ?? (engine.site, engines.admission)
        return ExchangeActor(
            prepared, engine: site, admission: admission, flow: flow(of: prepared.source), readers: readers)
    }
}

extension Session: RequestSender {
    var freeEngine: EngineExecutor { engines.engine(for: nil).executor }

    func answer(inFlight request: Request) async throws -> Answer {
        let steps = AttachedSteps(configuration.steps.ofRequestsInFlight)
        let call = makeRequest(request, .memory, start: clock.now(), isInFlight: true, steps: joined(steps, request))
        return try await call.runCollecting(nil)
    }
}

extension EngineConfiguration {
    init(_ configuration: SessionConfiguration, _ preparation: RequestPreparation) {
        self.init()
        idleLifetimeSeconds = Int(configuration.limits.idleLifetime.components.seconds)
        // The engine counts whole seconds, and takes zero for no limit.
        maximumLifetimeSeconds = max(Int(configuration.limits.maximumLifetime.components.seconds), 1)
        maximumConnections = configuration.limits.usable.total
        sharedConnections = configuration.limits.usable.sharedPerOrigin
        sendingLimitMilliseconds = Self.sendingLimit(idle: configuration.timeouts.idle)
        apply(configuration.http2)
        defaultHeaderLines = preparation.defaultLines
        followsNetworkChanges = configuration.followsNetworkChanges
        egress = configuration.egress?.rules
        connectionObserver = configuration.steps.exchangeObserver?.connectionObserver
    }

    /// Returns the time in milliseconds after which the system ends a connection whose peer does not take sent bytes: at least two minutes,
    /// and twice the limit on idle time, because a slow peer may take none for so long. Zero, the system's own limit, if there is none.
    private static func sendingLimit(idle: Duration?) -> UInt32 {
        guard let idle else { return 0 }
        return UInt32(clamping: max(2 * min(idle.components.seconds, Int64(Int32.max)), 120) * 1_000)
    }
}
