import Testing
import TrellisTesting

@testable import CurlEngine

/// An engine that ends keeps nothing of transfers that were in progress or had not begun.
@Suite(.timeLimit(.minutes(3)))
struct EngineEndTests {
    /// A delegate that reports its release. The delegate and its transfer refer to each other.
    private final class Delegate: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        let whenGone: @Sendable () -> Void
        var transfer: Transfer?

        init(whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
        deinit { whenGone() }

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) {}
    }

    @Test(arguments: [true, false])
    func nothingOfThemIsKept(_ isUnderWay: Bool) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            connection.waitUntilPeerCloses()
        }
        let run = EngineRun()
        let get = try EngineRun.get(server.url())
        let isGone = Locked(false)
        run.executor.submit {
            let delegate = Delegate { isGone.withLock { $0 = true } }
            delegate.transfer = run.engine.start(get, delegate: delegate)
            if !isUnderWay { run.executor.stop() }
        }
        if isUnderWay { try await server.waitUntilRequested(count: 1) }
        await run.finish()
        #expect(isGone.withLock { $0 })
    }
}
