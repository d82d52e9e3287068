import Testing
import TrellisTesting

@testable import TrellisCore

/// The connections of a session with several engines whose requests wait for them.
@Suite(.timeLimit(.minutes(2)))
struct ConnectionSharingTests {
    /// How few connections are closed for others depends on the time: an origin waits for its own for some milliseconds.
    @Test(arguments: [2, 4])
    func originsShareTheConnectionsOfTheTotalLimit(_ engines: Int) async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let session = SeveralEnginesTests.session(.fixed(engines), total: 8)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<60 {
                group.addTask {
                    for number in 0..<20 { _ = try await session.data(servers[(task + number) % 2].url()) }
                }
            }
            try await group.waitForAll()
        }
        #expect(servers.map(\.requests.count) == [600, 600])
        await session.shutdown()
    }

    @Test func sessionsWithoutConnectionsHaveOne() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = SeveralEnginesTests.session(.one, perOrigin: 0, total: -1)
        for _ in 0..<2 { #expect(try await session.string(server.url()) == "hello") }
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    /// All connections are on the second engine when requests of both engines wait.
    @Test func enginesShareTheConnectionsOfAnOriginForTheirTasks() async throws {
        let gate = LoopbackServer.Gate()
        let server = try SeveralEnginesTests.server { $0 == "/first" ? gate : nil }
        let session = SeveralEnginesTests.session(.fixed(2), perOrigin: 16)
        let first = (0..<16).map { _ in
            SeveralEnginesTests.onEngine(1, of: session) { _ = try await session.data(server.url("/first")) }
        }
        try await server.waitUntilRequested(count: 16)
        let tasks = (0..<80).map { number in
            SeveralEnginesTests.onEngine(number % 2, of: session) {
                for _ in 0..<10 { _ = try await session.data(server.url()) }
            }
        }
        await SeveralEnginesTests.waitUntilLive(session, count: 96)
        #expect(session.engineStatistics.map(\.requestCount) == [0, 16])
        gate.open()
        for task in first + tasks { try await task.value }
        #expect(session.engineStatistics.map(\.requestCount) == [400, 416])
        // Connections were closed on the second engine, and opened on the first, but not for every request.
        #expect(server.acceptedCount < 100)
        await session.shutdown()
    }
}
