import CurlEngine
import TrellisCore

/// The surroundings of one case of a test: the transport of a provider, and the layers of its trait.
package struct TestSurroundings: Sendable {
    /// The values of the layers, gathered.
    private struct Plan {
        var faults = FaultPlan()
        /// Whether faults that have not begun are a problem.
        var isStrict = false
        var makeServer: TestLayer.ServerMaker?
        var proxy: (toxics: [Toxic], seed: UInt64)?
    }

    /// Whether the transport, or the server, replaces the outer traits'.
    package let replacesTransport: Bool
    private var environment: TestEnvironment
    /// The transport of the provider, if any.
    private var own: (any Transport)?
    /// The transport of the operation; `nil` if the trait has none.
    private var transport: (any Transport)?
    /// The transport that plays the faults, if any.
    private var faulted: FaultTransport?
    private var startsServer = false
    private var startsProxy = false
    private let isStrict: Bool
    private let planned: [Fault]

    /// Creates the surroundings, and starts their servers.
    ///
    /// - Throws: ``TestLayerError`` if the layers do not belong together; the errors of the provider and of the servers.
    package init(_ provider: TransportProvider?, _ layers: [TestLayer]) async throws {
        var environment = TestEnvironment.current ?? TestEnvironment()
        environment.session = TestSession()
        environment.noNetwork = NoNetworkTransport()
        let plan = Self.plan(layers, &environment)
        guard provider == nil || plan.makeServer == nil else {
            throw TestLayerError("a test has a transport or a server, and .trellis(…) has both: remove one of them")
        }
        let own = try await provider?.makeTransport()
        replacesTransport = provider != nil || plan.makeServer != nil
        if replacesTransport { environment.leaveServer() }
        (isStrict, planned) = (plan.isStrict, plan.faults.faults)
        (self.own, transport, self.environment) = (own, own, environment)
        if let makeServer = plan.makeServer {
            self.environment.server = try makeServer(plan.faults, environment.clock)
            self.environment.serverChange = Self.serverChange(layers)
            startsServer = true
        } else if !plan.faults.isEmpty {
            let faulted = FaultTransport(
                wrapping: try Self.target(of: plan.faults, own, environment), faults: plan.faults,
                clock: environment.clock)
            (self.faulted, transport) = (faulted, faulted)
        }
        if let proxy = plan.proxy {
            guard let server = self.environment.server else {
                throw TestLayerError("a proxy needs a server: put .http { … } or .https { … } beside it or before it")
            }
            self.environment.proxy = try FaultProxy(
                to: server, toxics: proxy.toxics, seed: proxy.seed, clock: environment.clock)
            startsProxy = true
        }
    }

    private static func plan(_ layers: [TestLayer], _ environment: inout TestEnvironment) -> Plan {
        var plan = Plan()
        for layer in layers {
            switch layer.kind {
            case .clock: environment.clock = TestClock()
            case .session(let change): environment.changes.append(change)
            case .faults(let faults, let allowsUnused):
                plan.faults.rules += faults.rules
                if !allowsUnused, !faults.isEmpty { plan.isStrict = true }
            case .server(let make, _): plan.makeServer = make
            case .proxy(let toxics, let seed): plan.proxy = (toxics, seed)
            }
        }
        return plan
    }

    private static func serverChange(_ layers: [TestLayer]) -> TestLayer.SessionChange {
        for case .server(_, let change) in layers.map(\.kind) { return change }
        return { _ in }
    }

    /// Returns the transport that faults are to be put around.
    private static func target(
        of faults: FaultPlan, _ own: (any Transport)?, _ environment: TestEnvironment
    ) throws -> any Transport {
        if let own { return own }
        let names = faults.faults.map { "\($0)" }.joined(separator: ", ")
        guard environment.server == nil else {
            throw TestLayerError("a server that runs takes no more faults (\(names)): put .faults(…) beside its layer")
        }
        guard let current = TransportOverride.current?.transport else {
            throw TestLayerError(
                "faults (\(names)) need something to happen to: put .router { … }, .mock { … } or .http { … } before them"
            )
        }
        return current
    }

    /// Runs an operation in the surroundings.
    package func run<Result>(_ operation: () async throws -> Result) async throws -> Result {
        try await TestEnvironment.with(environment) {
            if let transport { return try await TransportOverride.with(transport) { try await operation() } }
            guard startsServer else { return try await operation() }
            return try await TransportOverride.withoutTransport { try await operation() }
        }
    }

    /// Ends the session, the servers and the transport, and returns the problems that they have found.
    ///
    /// - Parameter hasFailed: Whether the test has thrown an error, or its transport was replaced.
    /// - Throws: The error of the transport's end.
    package func finish(hasFailed: Bool) async throws -> [TestProblem] {
        await environment.session.end()
        let unsent = environment.noNetwork.finish(hasFailed: hasFailed)
        let problems = serverProblems + unsent + (hasFailed ? [] : unusedFaults)
        await stopServers()
        guard let test = own as? any TestTransport else { return problems }
        do {
            return try await test.finish(hasFailed: hasFailed) + problems
        } catch {
            // The problems that were found before are the likely cause.
            guard problems.isEmpty else {
                return problems + [TestProblem("the end of the transport has failed: \(error)")]
            }
            throw error
        }
    }

    /// Stops what the trait has started. The calls wait for threads.
    private func stopServers() async {
        let proxy = startsProxy ? environment.proxy : nil
        let server = startsServer ? environment.server : nil
        guard proxy != nil || server != nil else { return }
        await BlockingThreadPool.run {
            proxy?.stop()
            server?.stop()
        }
    }

    private var serverProblems: [TestProblem] {
        guard startsServer, let server = environment.server else { return [] }
        return server.errors.map { TestProblem("the server of the test has thrown \($0)") }
    }

    /// The problem of a plan that has begun nothing.
    private var unusedFaults: [TestProblem] {
        guard isStrict else { return [] }
        let (begun, requests) =
            if let faulted {
                (faulted.faults, faulted.requestNames)
            } else if let server = environment.server, startsServer {
                (server.faults, server.requests.map { "\($0.method) \($0.path)" })
            } else {
                ([Fault](), [String]())
            }
        guard begun.isEmpty else { return [] }
        let names = planned.map { "\($0)" }.joined(separator: ", ")
        let most = 8
        let shown = requests.prefix(most).joined(separator: ", ") + (requests.count > most ? ", …" : "")
        return [
            TestProblem(
                "no planned fault has happened (\(names)): "
                    + (requests.isEmpty ? "nothing was requested" : "requested were \(shown)"))
        ]
    }
}
