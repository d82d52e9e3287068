#if Service
import Logging
import ServiceLifecycle
import TrellisCore
import TrellisService
import TrellisTesting

/// A session whose server answers requests for `/slow` when a gate is open and all others at once, and the service of the session in a
/// group. Time stands still until a test moves it.
struct ServiceWorld {
    let clock = TestClock()
    /// The gate before the responses to requests for `/slow`.
    let answers = LoopbackServer.Gate()
    let transport: MockTransport
    let session: Session
    let service: SessionService
    let group: ServiceGroup

    /// Creates a group of the service, between others.
    init(
        grace: Duration = .seconds(30), before: [any Service] = [], after: (Session) -> [any Service] = { _ in [] }
    ) {
        transport = MockTransport { [answers] request in
            if request.path == "/slow" { try await answers.opened() }
            return .text("done")
        }
        session = Session(transport: transport, clock: clock)
        service = SessionService(session, grace: grace)
        group = ServiceGroup(services: before + [service] + after(session), logger: .silent)
    }

    /// Starts the group.
    func run() -> Task<Void, any Error> { Task { [group] in try await group.run() } }

    /// Starts a request that the server has received and does not answer before the gate is open.
    func slowRequest() async throws -> Task<String, any Error> {
        let count = transport.requests.count
        let task = Task { [session] in try await session.string("http://localhost/slow") }
        try await transport.waitUntilRequested(count: count + 1)
        return task
    }

    /// Starts the graceful shutdown of the group, and waits until the session drains.
    func drain(requests: Int = 1) async {
        await group.triggerGracefulShutdown()
        while session.health != .draining(requests: requests), !Task.isCancelled { await Task.yield() }
    }
}

extension Logger {
    /// A logger that writes nothing.
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
#endif
