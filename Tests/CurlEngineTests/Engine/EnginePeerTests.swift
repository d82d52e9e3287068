import Dispatch
import TestSupport
import Testing

@testable import CurlEngine

/// Engines ask each other for idle connections, and wait for the replies of those that have a thread.
@Suite(.timeLimit(.minutes(3)))
struct EnginePeerTests {
    /// Creates an executor whose thread runs, and its entry among all engines.
    private static func engine() async -> (EngineExecutor, EnginePeer) {
        let executor = EngineExecutor()
        await EngineExecutorTests.passThrough(executor)
        return (executor, EnginePeer(executor))
    }

    private static func askOthers(for executor: EngineExecutor) async {
        await withContinuation { continuation in
            EnginePeer.giveUpIdleConnections(for: executor) { continuation.resume() }
        }
    }

    @Test func anEngineThatIsLateIsWaitedFor() async {
        let (own, other) = (await Self.engine(), await Self.engine())
        let mayRun = DispatchSemaphore(value: 0), hasRun = Locked(false)
        other.0.submit {
            mayRun.waitForTest()
            hasRun.withLock { $0 = true }
        }
        let hadRun = await withContinuation { continuation in
            EnginePeer.giveUpIdleConnections(for: own.0) { continuation.resume(returning: hasRun.withLock { $0 }) }
            mayRun.signal()
        }
        #expect(hadRun)
        for (executor, _) in [own, other] { await executor.shutDown() }
    }

    @Test func anEngineWithoutAThreadIsNotAsked() async {
        let own = await Self.engine(), isRefused = Locked(true)
        let executor = EngineExecutor(clock: MonotonicClock.system) { executor, body in
            isRefused.withLock { $0 } ? 11 : EngineThread.start(for: executor, body)
        }
        let peer = EnginePeer(executor)
        executor.submit {}
        await Self.askOthers(for: own.0)
        isRefused.withLock { $0 = false }
        for executor in [own.0, executor] { await executor.shutDown() }
        withExtendedLifetime(peer) {}
    }

    @Test func anEngineThatHasEndedReplies() async {
        let (own, other) = (await Self.engine(), await Self.engine())
        await other.0.shutDown()
        await Self.askOthers(for: own.0)
        await own.0.shutDown()
        withExtendedLifetime(other) {}
    }
}
