import CCurl
import Testing

@testable import CurlEngine

/// A transfer that libcurl was not allowed to connect waits for a stream. The test takes the part of libcurl.
@Suite(.timeLimit(.minutes(3)), .enabled(if: LibcurlFeatures.current.canMultiplex, "needs libcurl 8.4"))
struct WaitForStreamTests {
    @Test func aTransferThatWaitsForAStreamLooksUpNoName() async throws {
        let configuration = EngineConfiguration()
        let run = EngineRun(configuration)
        let options = TransferOptions(
            url: try WireURL(parsing: "http://example.test/"), method: "GET", version: .http2PriorKnowledge)
        await run.onEngine {
            let (first, second) = (run.engine.makeTransfer(options), run.engine.makeTransfer(options))
            func isAdmitted(_ transfer: Transfer) -> Bool {
                run.engine.lookups.admits(transfer, now: MonotonicClock.now(), hasConnection: false)
            }
            #expect(isAdmitted(first))
            run.engine.lookups.isStillLeading(first)
            #expect(!isAdmitted(second))
            #expect(configuration.lookups.runningCount == 1)
            first.place.mustWait = true
            run.engine.end(first, CURLE_COULDNT_CONNECT)
            #expect(first.lookup == .none)
            #expect(configuration.lookups.runningCount == 0)
            // The other transfer leads now.
            #expect(second.lookup == .none)
            #expect(isAdmitted(second))
            #expect(second.lookup == .leading)
        }
        await run.finish()
    }
}
