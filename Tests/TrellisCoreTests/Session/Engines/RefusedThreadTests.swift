import Dispatch
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine
@testable import TrellisCore

/// Engines whose threads the system refuses.
@Suite(.timeLimit(.minutes(1)))
struct RefusedThreadTests {
    private static func session() -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(2)
        return Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
    }

    @Test func requestsAvoidAnEngineWithoutAThread() async throws {
        let session = Self.session()
        session.engines.all[1].executor.submit {}
        session.engine.meter.threadIsRefused()
        for _ in 0..<3 { #expect(try await session.string("http://a.example/") == "hello") }
        #expect(session.engineStatistics.map(\.requestCount) == [0, 3])
        #expect(session.timekeeper === session.engines.all[1].executor)
        #expect(!session.engine.hasStarted)
        await session.shutdown()
    }

    /// The thread of the other engine takes no work.
    @Test func aCancellationOfEverythingDoesNotWaitForAThread() async throws {
        let session = Self.session(), isHeld = LoopbackServer.Gate(), mayEnd = DispatchSemaphore(value: 0)
        session.engine.submit {
            isHeld.open()
            mayEnd.waitForTest()
        }
        try await isHeld.opened()
        session.engine.meter.threadIsRefused()
        await session.cancelAllRequests()
        mayEnd.signal()
        await session.shutdown()
    }

    /// None of the engines has a thread yet.
    @Test func theFirstEngineGetsARequestIfNoneHasAThread() async throws {
        let session = Self.session()
        for engine in session.engines.all { engine.executor.meter.threadIsRefused() }
        #expect(try await session.string("http://a.example/") == "hello")
        #expect(session.engineStatistics.map(\.requestCount) == [1, 0])
        await session.shutdown()
    }
}
