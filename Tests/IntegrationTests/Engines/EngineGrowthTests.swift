import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

/// The number of engines follows the load of real requests.
@Suite(.timeLimit(.minutes(4)))
struct EngineGrowthTests {
    /// A server with a body that is small on the wire, so that almost all of the work is the engine's. It pauses before a light response, so
    /// that the load is light.
    private static func server() throws -> LoopbackServer {
        let encoder = try #require(ContentEncoder(.gzip))
        let body = try encoder.encode(Data(repeating: 97, count: 4 << 20), isLast: true)
        return try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                if request.path == "/light" {
                    try connection.pause(for: .milliseconds(5))
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                } else {
                    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
                    try connection.write(Data(head.utf8) + body)
                }
            }
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
        // Engines that sleep take no samples.
        while session.engines.admission.activeCount == 2 { _ = try await session.data(server.url("/light")) }
        #expect(session.engines.all.count == 2)
        let before = session.engineStatistics.map(\.requestCount)
        for _ in 0..<20 { _ = try await session.data(server.url("/light")) }
        #expect(session.engineStatistics.map(\.requestCount).reduce(0, +) == before.reduce(20, +))
        await session.shutdown()
    }
}
