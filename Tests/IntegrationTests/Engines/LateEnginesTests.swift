import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// Engines whose thread is blocked, for example by code of the user's on an executor of the session. What needs such an engine is late.
@Suite(.timeLimit(.minutes(2)))
struct LateEnginesTests {
    private typealias Engines = SeveralEnginesTests

    /// A job that blocks the thread of an engine.
    private struct Blockade {
        private let gate = DispatchedWait()
        private let task: Task<Void, any Error>

        /// Blocks an engine, and returns as soon as the job runs.
        init(_ index: Int, of session: Session) async throws {
            let (begun, gate) = (LoopbackServer.Gate(), gate)
            task = Engines.onEngine(index, of: session) {
                begun.open()
                gate.wait(atMost: 100)
            }
            try await begun.opened()
        }

        func end() async throws {
            gate.end()
            try await task.value
        }
    }

    @Test func theStatisticsShowAnEngineThatIsLate() async throws {
        let session = Engines.session(.fixed(2))
        #expect(session.engineStatistics.map(\.turnTime) == [.zero, .zero])
        let blockade = try await Blockade(1, of: session)
        while session.engineStatistics[1].turnTime < .milliseconds(10), !Task.isCancelled { await Task.yield() }
        #expect(session.engineStatistics[0].turnTime == .zero)
        try await blockade.end()
        await session.shutdown()
        #expect(session.engineStatistics.map(\.turnTime) == [.zero, .zero])
    }

    @Test func requestsOnOtherEnginesAreNotLate() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Engines.session(.fixed(2))
        let blockade = try await Blockade(0, of: session)
        let text = Engines.onEngine(1, of: session) { try await session.string(server.url()) }
        #expect(try await text.value == "hello")
        try await blockade.end()
        await session.shutdown()
    }

    /// The limit holds, however late the engine is.
    @Test func aSlotWaitsForTheEngineThatClosesAConnection() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let session = Engines.session(.fixed(2), total: 1)
        _ = try await Engines.onEngine(1, of: session) { try await session.data(servers[0].url()) }.value
        await session.engines.all[1].settle()
        let blockade = try await Blockade(1, of: session)
        let data = Engines.onEngine(0, of: session) { try await session.data(servers[1].url()).0 }
        while await session.liveRequests.isEmpty, !Task.isCancelled { await Task.yield() }
        await session.engines.all[0].settle()
        #expect(servers[1].acceptedCount == 0)
        try await blockade.end()
        #expect(try await data.value.count == 5)
        try await servers[0].waitUntilAllClosed()
        await session.shutdown()
    }

    /// The request is suspended, resumed and cancelled before its engine has looked at it.
    @Test func aRequestThatComesToAnEngineThatIsLateIsCountedOnce() async throws {
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
