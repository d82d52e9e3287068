import Dispatch
import Testing

@testable import CurlEngine

/// Engines ask each other for idle connections, and none waits for another one that does not reply.
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

    /// The other engine is blocked, and does not count as stuck yet.
    @Test func anEngineThatBecomesStuckIsWaitedForOnlyForAMoment() async {
        let (own, other) = (await Self.engine(), await Self.engine())
        let mayRun = DispatchSemaphore(value: 0), hasRun = Locked(false)
        other.0.submit {
            // A test that fails ends too.
            _ = mayRun.wait(timeout: .now() + 10)
            hasRun.withLock { $0 = true }
        }
        await Self.askOthers(for: own.0)
        #expect(!hasRun.withLock { $0 })
        mayRun.signal()
        for (executor, _) in [own, other] { await executor.shutDown() }
    }

    @Test func anEngineThatHasEndedReplies() async {
        let (own, other) = (await Self.engine(), await Self.engine())
        await other.0.shutDown()
        await Self.askOthers(for: own.0)
        await own.0.shutDown()
        withExtendedLifetime(other) {}
    }

    @Test func aDeliveryIsMadeOnce() async {
        let count = Locked(0)
        let delivery = LateDelivery { count.withLock { $0 += 1 } }
        delivery.deliver()
        delivery.timerIsDue()
        #expect(count.withLock { $0 } == 1)
    }
}
