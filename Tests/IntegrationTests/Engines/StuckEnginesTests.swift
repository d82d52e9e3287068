import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// Engines whose thread is blocked, for example by code of the user's on an executor of the session.
@Suite(.timeLimit(.minutes(2)))
struct StuckEnginesTests {
    private typealias Engines = SeveralEnginesTests

    /// A job that blocks the thread of an engine.
    private struct Blockade {
        let gate = DispatchedWait()
        let task: Task<Void, any Error>

        /// Blocks an engine, and returns as soon as the job runs.
        init(_ index: Int, of session: Session) async throws {
            let (begun, gate) = (LoopbackServer.Gate(), gate)
            task = Engines.onEngine(index, of: session) {
                begun.open()
                gate.wait(atMost: 10)
            }
            try await begun.opened()
        }

        func end() async throws {
            gate.end()
            try await task.value
        }
    }

    private func waitUntilStuck(_ index: Int, of session: Session) async {
        while !session.engines.all[index].executor.meter.isStuck, !Task.isCancelled { await Task.yield() }
    }

    /// Starts a request on one engine, which waits for its slot.
    private func waiting(_ path: String, _ index: Int, _ session: Session, _ server: LoopbackServer) async -> Task<
        Void, any Error
    > {
        let count = await session.liveRequestCount
        let task = Engines.onEngine(index, of: session) { _ = try await session.data(server.url(path)) }
        await Engines.waitUntilLive(session, count: count + 1)
        return task
    }

    // MARK: The choice of an engine

    @Test(arguments: [EngineCount.fixed(2), .automatic])
    func requestsAvoidAnEngineThatIsStuck(_ engines: EngineCount) async throws {
        guard engines.maximum > 1 else { return }
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Engines.session(engines)
        let blockade = try await Blockade(0, of: session)
        await waitUntilStuck(0, of: session)
        for _ in 0..<3 { #expect(try await session.string(server.url()) == "hello") }
        #expect(session.engineStatistics.map(\.requestCount).prefix(2) == [0, 3])
        try await blockade.end()
        await session.shutdown()
    }

    @Test func noExecutorOfAnEngineThatIsStuckIsHandedOut() async throws {
        let session = Engines.session(.fixed(3))
        let blockade = try await Blockade(1, of: session)
        await waitUntilStuck(1, of: session)
        let names = Set((0..<6).map { _ in ObjectIdentifier(session.executor) })
        #expect(names == Set([0, 2].map { ObjectIdentifier(session.engines.all[$0].executor) }))
        try await blockade.end()
        await session.shutdown()
    }

    // MARK: Turns

    /// Requests keep their order, however long a turn of their engine lasts.
    @Test func anEngineInALongTurnKeepsTheTurnsOfItsRequests() async throws {
        let gate = LoopbackServer.Gate()
        let server = try Engines.server { $0 == "/first" ? gate : nil }
        let session = Engines.session(.fixed(2), perOrigin: 1)
        let first = await waiting("/first", 0, session, server)
        try await server.waitUntilRequested(count: 1)
        let tasks = [await waiting("/a", 0, session, server), await waiting("/b", 1, session, server)]
        let (blockade, wait) = (try await Blockade(0, of: session), DispatchedWait())
        // Both calls run in one turn, after the blockade.
        session.engine.submit { wait.wait() }
        first.cancel()
        blockade.gate.end()
        await waitUntilStuck(0, of: session)
        wait.end()
        try await blockade.task.value
        for task in tasks { try await task.value }
        gate.open()
        #expect(server.requests.map(\.path) == ["/first", "/a", "/b"])
        await session.shutdown()
    }

    // MARK: Waits

    @Test func aSlotDoesNotWaitForTheEngineThatClosesAConnection() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let session = Engines.session(.fixed(2), total: 1)
        _ = try await Engines.onEngine(1, of: session) { try await session.data(servers[0].url()) }.value
        await session.engines.all[1].settle()
        // The engine of the idle connection does not count as stuck yet.
        let blockade = try await Blockade(1, of: session)
        _ = try await Engines.onEngine(0, of: session) { try await session.data(servers[1].url()) }.value
        try await blockade.end()
        try await servers[0].waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func aRetryDoesNotWaitForAnEngineThatIsStuck() async throws {
        let server = try LoopbackServer.http { $0.path == "/" ? .text("busy", status: 503) : .text("hello") }
        let session = Engines.session(.fixed(2)) {
            $0.steps.intercept(with: RetryPolicy(retryLimit: 1, exponentialBackoffScale: .milliseconds(1)))
        }
        let blockade = try await Blockade(0, of: session)
        await waitUntilStuck(0, of: session)
        #expect(try await session.data(server.url("/")).1.status.code == 503)
        #expect(server.requests.count == 2)
        #expect(session.timekeeper === session.engines.all[1].executor)
        try await blockade.end()
        await session.shutdown()
    }

    @Test func aBandwidthLimitGrantsAlthoughAnEngineIsStuck() async throws {
        let server = try LoopbackServer.http { _ in .text(String(repeating: "a", count: 60_000)) }
        let session = Engines.session(.fixed(2)) { $0.bandwidth.download = BandwidthLimit(bytesPerSecond: 200_000) }
        let blockade = try await Blockade(0, of: session)
        await waitUntilStuck(0, of: session)
        let data = Engines.onEngine(1, of: session) { try await session.data(server.url()).0 }
        #expect(try await data.value.count == 60_000)
        try await blockade.end()
        await session.shutdown()
    }

    // MARK: The end of requests

    /// The request is suspended, resumed and cancelled before its engine has looked at it.
    @Test func aRequestThatComesToAnEngineThatIsStuckIsCountedOnce() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Engines.session(.one)
        let blockade = try await Blockade(0, of: session)
        let request = session.request(server.url())
        request.resume()
        let list = session.engines.first.site.list
        while list.all.isEmpty, !Task.isCancelled { await Task.yield() }
        request.suspend()
        request.resume()
        let cancelling = Task { await session.cancelAllRequests() }
        while list.all.contains(where: { !$0.marks.mayNotStart }), !Task.isCancelled { await Task.yield() }
        try await blockade.end()
        await cancelling.value
        await #expect(throws: (any Error).self) { try await request.data() }
        // The shutdown waits until no request is counted.
        await session.shutdown()
    }
}
