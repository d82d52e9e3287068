package import CurlEngine
private import FoundationEssentials

/// The front door: sends requests, and shares connections, limits and defaults between them.
///
/// A session is cheap while it is idle: no thread before the first request, no wake-ups between requests, no sockets after
/// their idle lifetime. When the last reference to it and to its streams goes, its thread and its connections end.
///
/// ```swift
/// let (data, response) = try await Session.default.data("https://example.com/")
/// ```
public final class Session: Sendable {
    /// A session with the default configuration, for the whole process.
    public static let `default` = Session()

    /// What the session was made with.
    public let configuration: SessionConfiguration
    let engine: EngineExecutor
    let actor: SessionActor
    let transport: any Transport
    let preparation: RequestPreparation
    let clock: any EngineClock
    let hub: EventHub
    /// The configuration's steps.
    let steps: AttachedSteps
    let hasSteps: Bool
    private let flow: SessionFlow?

    /// Creates a session on libcurl.
    public convenience init(configuration: SessionConfiguration = SessionConfiguration()) {
        self.init(configuration: configuration, transport: nil)
    }

    /// Creates a session on another transport, for tests and for servers in the same process; `nil`: on libcurl.
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

    /// A session on another transport whose time limits follow another clock.
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
        flow = SessionFlow(configuration.bandwidth, executor: engine)
        actor = SessionActor(executor: engine, limits: configuration.limits)
    }

    deinit { engine.stop() }

    /// What limits the speed of a request; `nil` if nothing does.
    func flow(of request: Request) -> TransferFlow? {
        guard flow != nil || request.extras != nil else { return nil }
        return SessionFlow.flow(of: request, in: flow, executor: engine)
    }

    /// The thread of the session as an executor. A task that prefers it crosses no thread on its way into the session and
    /// back, which makes small requests faster:
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(session.executor) { … }
    /// ```
    ///
    /// Whatever such a task does in between holds up every other request of the session: keep it short, and never block.
    public var executor: any TaskExecutor { engine }

    /// Ends the session: takes no more requests, lets those in flight go on for `grace`, then ends them with an error of
    /// kind ``TrellisError/Kind/cancelled``. Downloads in flight go on too, with whatever they have to ask for, and so
    /// does the refresh of a credential (``AuthenticationInterceptor``) that a request in flight waits for. Returns when all
    /// connections are closed and the session's thread has ended.
    ///
    /// - Parameter grace: How long requests in flight may still take; none unless given.
    public func shutdown(drainingFor grace: Duration = .zero) async {
        await actor.shutDown(drainingFor: grace)
        await engine.shutDown()
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
        maximumConnectionsPerHost = configuration.limits.perOrigin
        unixSocketPath = configuration.unixSocketPath
        proxy = configuration.proxy?.engine
        defaultHeaderLines = preparation.defaultLines
    }
}

extension Session {
    /// Requests that have not ended; for tests.
    package var liveRequestCount: Int { get async { await actor.requestCount } }
}
