import CurlEngine
public import TrellisCore

/// The parts of the present test that are not its transport.
struct TestEnvironment: Sendable {
    /// The environment of the current task, if any.
    @TaskLocal private static var ofTask: TestEnvironment?

    var clock: TestClock?
    var server: LoopbackServer?
    var proxy: FaultProxy?
    /// The changes of the session's configuration; the server's comes first.
    var serverChange: TestLayer.SessionChange = { _ in }
    var changes: [TestLayer.SessionChange] = []
    var session = TestSession()
    /// The transport of a session without a server and without another transport. It must not reach the network.
    var noNetwork = NoNetworkTransport()

    /// The environment of the current task, if any.
    static var current: TestEnvironment? { ofTask }

    /// Runs an operation with an environment.
    static func with<Result>(
        _ environment: TestEnvironment, _ operation: () async throws -> Result
    ) async rethrows -> Result {
        try await $ofTask.withValue(environment) { try await operation() }
    }

    /// Forgets the server of an outer trait.
    mutating func leaveServer() {
        server = nil
        proxy = nil
        serverChange = { _ in }
    }

    /// Creates a session that has the parts of the test.
    ///
    /// - Parameter transport: The transport of the test, if any.
    fileprivate func makeSession(_ transport: (any Transport)?) -> Session {
        var configuration = SessionConfiguration()
        if let server {
            configuration = server.sessionConfiguration()
            configuration.baseURL = baseURL(of: server)
        }
        serverChange(&configuration)
        for change in changes { change(&configuration) }
        if server != nil, transport == nil { return Session(configuration: configuration) }
        let transport = transport ?? noNetwork
        guard let clock else { return Session(configuration: configuration, transport: transport) }
        return Session(configuration: configuration, transport: transport, clock: clock)
    }

    private func baseURL(of server: LoopbackServer) -> String {
        guard let proxy else { return server.url("/") }
        return proxy.url("/", scheme: server.authority == nil ? "http" : "https")
    }
}

/// The session of a test, which is made when the test asks for it.
final class TestSession: Sendable {
    private let made = Locked<Session?>(nil)

    fileprivate func session(_ environment: TestEnvironment, _ transport: (any Transport)?) -> Session {
        if let session = made.withLock({ $0 }) { return session }
        // Made without the lock, because the changes of its configuration are the test's code.
        let session = environment.makeSession(transport)
        return made.withLock { made in
            if let made { return made }
            made = session
            return session
        }
    }

    /// Ends the session, if there is one.
    func end() async {
        let session = made.withLock { made in
            defer { made = nil }
            return made
        }
        await session?.shutdown()
    }
}

// MARK: The parts of the present test

extension Session {
    /// The session of the present test, which is made when it is first asked for, and ends with the test; `nil` outside the trait
    /// `.trellis(…)` of `TrellisTestTraits`.
    ///
    /// The session uses the test's transport and its clock (``TestLayer/clock``). If the test has a server, the session uses the network,
    /// trusts the server, and resolves all names to it. Its base URL is the server's, or the one of the proxy in front of it, so that
    /// `session.data("users")` suffices. ``TestLayer/session(_:)`` changes its configuration. Without a transport and a server, its
    /// requests fail, and are problems of the test (``NoNetworkTransport``).
    public static var current: Session? {
        guard let environment = TestEnvironment.current else { return nil }
        return environment.session.session(environment, TransportOverride.current?.transport)
    }
}

extension TestClock {
    /// The clock of the present test, from the layer ``TestLayer/clock``, if any.
    public static var current: TestClock? { TestEnvironment.current?.clock }
}

extension LoopbackServer {
    /// The server of the present test, from a layer such as ``TestLayer/https(names:requiresClientCertificate:_:)``; `nil` if there is
    /// none.
    public static var current: LoopbackServer? { TestEnvironment.current?.server }
}

extension FaultProxy {
    /// The proxy of the present test, from the layer ``TestLayer/proxy(_:seed:)``, if any.
    public static var current: FaultProxy? { TestEnvironment.current?.proxy }
}

extension FaultTransport {
    /// The transport with the faults of the present test, from the layer ``TestLayer/faults(_:allowsUnused:)`` or of
    /// ``withTransport(_:_:)-(Transport,_)``; `nil` if the test has none, or if its server plays the faults.
    public static var current: FaultTransport? { TransportOverride.current?.transport as? FaultTransport }
}
