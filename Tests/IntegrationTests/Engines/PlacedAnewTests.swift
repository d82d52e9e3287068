import CurlEngine
import Dispatch
import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

/// A request that waits for a connection does not wait for its engine, if that is stuck when a connection is free.
@Suite(.timeLimit(.minutes(2)))
struct PlacedAnewTests {
    private typealias Engines = SeveralEnginesTests

    /// The steps of the session.
    enum Kind: CaseIterable, Sendable { case plain, direct }

    private static func server(_ gate: LoopbackServer.Gate) throws -> LoopbackServer {
        try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                switch request.path {
                case "/first":
                    try connection.wait(for: gate)
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                case "/redirect":
                    try connection.write("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n")
                default: try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                }
            }
        }
    }

    @Test(arguments: Kind.allCases, ["/late", "/redirect"])
    func aRequestThatWaitsOnAnEngineThatIsStuckIsPlacedOnAnother(_ kind: Kind, _ path: String) async throws {
        let gate = LoopbackServer.Gate()
        let server = try Self.server(gate)
        let session = Engines.session(.fixed(2), perOrigin: 1) {
            if kind == .direct { $0.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        }
        let first = Engines.onEngine(1, of: session) { _ = try await session.data(server.url("/first")) }
        try await server.waitUntilRequested(count: 1)
        let late = Task { try await session.string(server.url(path)) }
        await Engines.waitUntilLive(session, count: 2)
        #expect(await session.engines.first.actor.requestCount == 1)
        let (mayRun, hasRun) = (DispatchSemaphore(value: 0), Locked(false))
        session.engines.first.executor.submit {
            // A test that fails ends too.
            _ = mayRun.wait(timeout: .now() + 10)
            hasRun.withLock { $0 = true }
        }
        while !session.engines.first.executor.meter.isStuck, !Task.isCancelled { await Task.yield() }
        gate.open()
        try await first.value
        #expect(try await late.value == "hello")
        #expect(!hasRun.withLock { $0 })
        #expect(session.engineStatistics.map(\.requestCount) == [0, path == "/late" ? 2 : 3])
        mayRun.signal()
        // The shutdown waits until no request is counted.
        await session.shutdown(drainingFor: .seconds(5))
        #expect(server.requests.count == (path == "/late" ? 2 : 3))
    }
}
