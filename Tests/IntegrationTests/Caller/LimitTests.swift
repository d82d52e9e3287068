import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Limits, shared responses and hedges work on the wire.
@Suite(.timeLimit(.minutes(3)))
struct LimitTests {
    /// Returns a server that counts its requests, and a session with steps.
    private func world(
        _ answer: @escaping @Sendable (Int) -> LoopbackServer.Response, clock: TestClock = TestClock(),
        _ change: (inout Steps) -> Void
    ) throws -> (LoopbackServer, Session) {
        let count = Locked(0)
        let server = try LoopbackServer.http { _ in answer(count.next()) }
        var configuration = SessionConfiguration()
        change(&configuration.steps)
        return (server, Session(configuration: configuration, clock: clock))
    }

    @Test func aRateIsKeptTo() async throws {
        let clock = TestClock()
        let (server, session) = try world({ _ in .text("x") }, clock: clock) {
            $0.limit(rate: RateLimit(requestsPerSecond: 1, burst: 1))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { _ = try await session.data(server.url("/")) } }
            // Each second has one token, however late the tasks begin.
            for count in 1...4 {
                try await server.waitUntilRequested(count: count)
                await session.settle()
                clock.move(by: .milliseconds(999))
                await session.settle()
                #expect(server.requests.count == count)
                clock.move(by: .milliseconds(1))
            }
            try await group.waitForAll()
        }
    }

    @Test func aHostThatFailsIsLeftAlone() async throws {
        let (server, session) = try world({ _ in .text("", status: 503) }) {
            $0.circuitBreaker = CircuitBreaker(minimumRequests: 3, openDuration: .seconds(3600))
        }
        for _ in 0..<3 { #expect(try await session.data(server.url("/")).1.status.code == 503) }
        let error = await #expect(throws: TrellisError.self) { try await session.data(server.url("/")) }
        #expect(error?.kind == .circuitOpen)
        #expect(server.requests.count == 3)
    }

    @Test func aConnectionThatIsRefusedOpensTheCircuitToo() async throws {
        let url = try ClosedPort().url()
        var configuration = SessionConfiguration()
        configuration.steps.circuitBreaker = CircuitBreaker(minimumRequests: 2, openDuration: .seconds(3600))
        let session = Session(configuration: configuration)
        var kinds: [TrellisError.Kind?] = []
        for _ in 0..<3 { kinds.append(await #expect(throws: TrellisError.self) { try await session.data(url) }?.kind) }
        #expect(kinds == [.connect, .connect, .circuitOpen])
    }

    @Test func oneAnswerIsSharedByAllWhoAsk() async throws {
        let gate = LoopbackServer.Gate()
        let server = try LoopbackServer.http { _ in
            LoopbackServer.Response(
                body: .chunked { writer in
                    try writer.connection.wait(for: gate)
                    try writer.write("shared")
                })
        }
        let flight = RequestCoalescing()
        var configuration = SessionConfiguration()
        configuration.steps.application = [flight]
        let session = Session(configuration: configuration)
        let joined = session.requestEvents
        let tasks = (0..<10).map { _ in Task { try await session.data(server.url("/")).0 } }
        var count = 0
        for await event in joined {
            if case .coalesced = event.kind { count += 1 }
            if count == tasks.count { break }
        }
        gate.open()
        for task in tasks { #expect(String(decoding: try await task.value, as: UTF8.self) == "shared") }
        #expect(server.requests.count == 1)
    }

    @Test func aSlowServerIsAskedTwice() async throws {
        let gate = LoopbackServer.Gate(), clock = TestClock()
        let (server, session) = try world(
            { number in
                guard number == 1 else { return .text("second") }
                return LoopbackServer.Response(
                    body: .chunked { writer in
                        try writer.connection.wait(for: gate)
                        try writer.write("first")
                    })
            }, clock: clock
        ) { $0.hedging = HedgingPolicy(after: .seconds(5)) }
        // The first request must not reach a limit of its own before the second one is at the server.
        let request = Request(server.url("/")).withTimeouts(Timeouts(responseHead: nil, idle: nil, total: nil))
        async let answer = session.data(request)
        try await server.waitUntilRequested(count: 1)
        // The delay may begin later than the request.
        try await clock.move(by: .seconds(5), in: session) { server.requests.count > 1 }
        let (data, response) = try await answer
        #expect(String(decoding: data, as: UTF8.self) == "second")
        #expect(response.metrics.attemptCount == 2)
        // The connection to the slow server was closed.
        try await server.waitUntilClosed(count: 1)
        gate.open()
    }
}
