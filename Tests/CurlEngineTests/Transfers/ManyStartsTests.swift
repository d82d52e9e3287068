import Testing

@testable import CurlEngine

/// Many transfers that are started at once begin in several turns of the loop, in their order.
@Suite(.timeLimit(.minutes(3)))
struct ManyStartsTests {
    /// The transfers, in the order of their starts. None of them can connect.
    private static let options: TransferOptions? = {
        var parts = TransferRoute.Parts()
        parts.socket = TransferRoute.Socket(name: "/nowhere/socket", isAbstract: false)
        guard let url = try? WireURL(parsing: "http://localhost/") else { return nil }
        return TransferOptions(url: url, route: TransferRoute(parts), method: "GET")
    }()

    @Test func otherWorkRunsBetweenTheStarts() async throws {
        let (run, options) = (EngineRun(), try #require(Self.options))
        let count = 1_000
        // The first work of an engine runs before the first turn of its loop.
        for _ in 0..<2 { await run.onEngine {} }
        let (ends, passed) = (Locked<[Int]>([]), Locked<[Int]>([]))
        await withCheckedContinuation { continuation in
            run.executor.submit {
                let outcomes = (0...count).map { number in
                    EngineRun.Outcome(whenEnded: { _ in
                        ends.withLock { $0.append(number) }
                        if number == count { continuation.resume() }
                    })
                }
                for outcome in outcomes[..<count] { run.start(options, outcome) }
                run.executor.submit {
                    let isPassed = outcomes[..<count].map { $0.end != nil || $0.transfer?.isUnderWay == true }
                    passed.withLock { $0 = isPassed.indices.filter { isPassed[$0] } }
                    // A transfer that is started between two turns is passed after the earlier ones.
                    run.start(options, outcomes[count])
                }
            }
        }
        #expect(passed.withLock { $0 } == Array(0..<256))
        #expect(ends.withLock { $0 } == Array(0...count))
        await run.finish()
    }
}
