package import CurlEngine
private import FoundationEssentials

/// The entry point of the framework, which sends requests, and shares connections, limits and defaults between them.
///
/// An idle session is cheap: it has no thread before the first request, no wake-ups between requests, and no sockets after their idle
/// lifetime. When the last reference to the session and to its streams is released, its thread and its connections end.
///
/// ```swift
/// let (data, response) = try await Session.default.data("https://example.com/")
/// ```
public final class Session: Sendable {
    /// The session with the default configuration, for the whole process.
    public static let `default` = Session()

    /// The configuration that the session was created with.
    public let configuration: SessionConfiguration
    /// The session's engine thread, as an executor.
    let engine: EngineExecutor
    let actor: SessionActor
    let transport: any Transport
    /// The preparation that checks requests and completes them with the configuration's defaults.
    let preparation: RequestPreparation
    let clock: any EngineClock
    /// The hub that distributes events to the configuration's monitors and to ``requestEvents``.
    let hub: EventHub
    /// The configuration's steps.
    let steps: AttachedSteps
    let hasSteps: Bool
    /// The bandwidth limits that all transfers share; `nil` if the configuration has none.
    private let flow: SessionBandwidth?

    /// Creates a session that uses libcurl.
    public convenience init(configuration: SessionConfiguration = SessionConfiguration()) {
        self.init(configuration: configuration, transport: nil)
    }

    /// Creates a session that uses another transport, for tests and for servers in the same process; libcurl if `nil`.
    public convenience init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: (any Transport)?
    ) {
        let engine = EngineExecutor()
        let preparation = RequestPreparation(configuration)
        let transport =
            transport
            ?? LibcurlTransport(executor: engine, configuration: EngineConfiguration(configuration, preparation))
        self.init(configuration, preparation, engine, transport, MonotonicClock.system)
    }

    /// Creates a session that uses another transport, and another clock for its time limits.
    package convenience init(
        configuration: SessionConfiguration, transport: any Transport, clock: any EngineClock
    ) {
        self.init(
            configuration, RequestPreparation(configuration), EngineExecutor(clock: clock), transport, clock)
    }

    private init(
        _ configuration: SessionConfiguration, _ preparation: RequestPreparation, _ engine: EngineExecutor,
        _ transport: any Transport, _ clock: any EngineClock
    ) {
        self.configuration = configuration
        self.engine = engine
        self.transport = transport
        self.clock = clock
        self.preparation = preparation
        steps = AttachedSteps(configuration.steps)
        hasSteps = !configuration.steps.isEmpty
        hub = EventHub(monitors: configuration.eventMonitors, bufferSize: configuration.eventBufferSize)
        flow = SessionBandwidth(configuration.bandwidth, executor: engine)
        actor = SessionActor(executor: engine, limits: configuration.limits)
    }

    deinit { engine.stop() }

    /// Returns the bandwidth limits of a request, including those of its session; `nil` if there are none.
    func flow(of request: Request) -> TransferBandwidth? {
        guard flow != nil || request.extras != nil else { return nil }
        return SessionBandwidth.flow(of: request, in: flow, executor: engine)
    }

    /// The thread of the session as an executor. A task that prefers this executor needs no thread switch on its way into the session and
    /// back, which makes small requests faster:
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(session.executor) { … }
    /// ```
    ///
    /// Everything else that such a task does delays all other requests of the session. Keep it short, and never block.
    public var executor: any TaskExecutor { engine }

    /// Ends the session: refuses new requests, lets requests in flight continue for `grace`, and then ends them with an error of kind
    /// ``TrellisError/Kind/cancelled``. Downloads in flight continue too, with all requests that they still need, and so does the refresh
    /// of a credential (``AuthenticationInterceptor``) for which a request in flight waits. Waits until all connections are closed, the
    /// session's thread has ended, and the event monitors have handled their events, for which they have two seconds. The monitors get no
    /// events of calls that are made later.
    ///
    /// - Parameter grace: The time for which requests in flight may continue. The default is zero.
    public func shutdown(drainingFor grace: Duration = .zero) async {
        await actor.shutDown(drainingFor: grace)
        await engine.shutDown()
        await hub.finishMonitors(within: .seconds(2))
    }
}

extension EngineConfiguration {
    fileprivate init(_ configuration: SessionConfiguration, _ preparation: RequestPreparation) {
        self.init()
        trust =
            configuration.tls.isInsecure
            ? .nothing : .system(additionalFile: configuration.tls.additionalCertificateAuthorityFile)
        idleLifetimeSeconds = Int(configuration.limits.idleLifetime.components.seconds)
        maximumLifetimeSeconds = Int(configuration.limits.maximumLifetime.components.seconds)
        maximumConnections = configuration.limits.total
        unixSocketPath = configuration.unixSocketPath
        proxy = configuration.proxy?.engine
        defaultHeaderLines = preparation.defaultLines
    }
}

extension Session {
    /// The number of requests that have not ended; for tests.
    package var liveRequestCount: Int { get async { await actor.requestCount } }
}
