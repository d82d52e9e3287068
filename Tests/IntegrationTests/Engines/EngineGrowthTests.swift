import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

/// The number of engines follows the load of real requests.
@Suite(.timeLimit(.minutes(4)))
struct EngineGrowthTests {
    /// A server with a body that is small on the wire, so that almost all of the work is the engine's.
    private static func server() throws -> LoopbackServer {
        let encoder = try #require(ContentEncoder(.gzip))
        let body = try encoder.encode(Data(repeating: 97, count: 4 << 20), isLast: true)
        return try LoopbackServer.http { request in
            if request.path == "/light" { return .text("hello") }
            return .init(headers: [("Content-Encoding", "gzip")], body: body)
        }
    }

    @Test func anEngineIsAddedUnderLoadAndTakenAwayAfterIt() async throws {
        let server = try Self.server()
        let session = SeveralEnginesTests.session(EngineCount(initial: 1, maximum: 2))
        let mayEnd = Locked(false)
        let load = (0..<24).map { _ in
            Task { while !mayEnd.withLock({ $0 }) { _ = try await session.data(server.url("/heavy")) } }
        }
        while session.engineStatistics.count < 2 { await Task.yield() }
        while session.engineStatistics[1].requestCount < 3 { await Task.yield() }
        #expect(session.engines.admission.activeCount == 2)
        mayEnd.withLock { $0 = true }
        for task in load { try await task.value }
        // The pauses make the load light. Engines that sleep take no samples.
        while session.engines.admission.activeCount == 2 {
            _ = try await session.data(server.url("/light"))
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(session.engines.all.count == 2)
        let before = session.engineStatistics.map(\.requestCount)
        for _ in 0..<20 { _ = try await session.data(server.url("/light")) }
        #expect(session.engineStatistics.map(\.requestCount).reduce(0, +) == before.reduce(20, +))
        await session.shutdown()
    }
}
