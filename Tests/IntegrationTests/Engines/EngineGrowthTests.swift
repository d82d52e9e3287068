import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The number of engines follows the load of real requests.
@Suite(.timeLimit(.minutes(4)))
struct EngineGrowthTests {
    /// A server with a body that is small on the wire, so that almost all of the work is the engine's, with one that comes slowly, and with
    /// none.
    private static func server() throws -> LoopbackServer {
        let encoder = try #require(ContentEncoder(.gzip))
        let body = try encoder.encode(Data(repeating: 97, count: 1 << 20), isLast: true)
        return try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                if request.path == "/small" {
                    try connection.write("HTTP/1.1 204 No Content\r\n\r\n")
                } else if request.path == "/light" {
                    let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                    // The time between two pieces is long enough for an engine that a busy machine lets run late.
                    try connection.writeSlowly(response, bytesAtOnce: 20, every: .milliseconds(40))
                } else {
                    let fields = "Content-Encoding: gzip\r\nContent-Length: \(body.count)"
                    try connection.write("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
                    try connection.write(body)
                }
            }
        }
    }

    @Test func anEngineIsAddedUnderLoadAndTakenAwayAfterIt() async throws {
        let server = try Self.server()
        // A busy machine may give the engine a small share of a core, and have no idle core.
        let session = SeveralEnginesTests.session(
            EngineCount(initial: 1, maximum: 2, busyShare: 0.05, idleProcessors: 0))
        try await withThrowingTaskGroup(of: Void.self) { load in
            for _ in 0..<12 {
                load.addTask {
                    // The second engine relieves the first one, which is busy.
                    while session.engineStatistics.dropFirst().allSatisfy({ $0.requestCount < 3 }) {
                        _ = try await session.data(server.url("/heavy"))
                    }
                }
            }
            try await load.waitForAll()
        }
        // Engines that sleep make no samples of their own, and so a light load follows, which lasts seconds.
        var now = MonotonicClock.now()
        while session.engines.admission.activeCount == 2 {
            if Scale.isFull { _ = try await session.data(server.url("/light")) }
            now = now.advanced(by: .milliseconds(100))
            if !Scale.isFull { for engine in 0..<2 { session.engines.scaling.sample(0, of: engine, at: now) } }
        }
        #expect(session.engines.all.count == 2)
        let before = session.engineStatistics.map(\.requestCount)
        for _ in 0..<20 { _ = try await session.data(server.url("/small")) }
        #expect(session.engineStatistics.map(\.requestCount).reduce(0, +) == before.reduce(20, +))
        await session.shutdown()
    }
}
