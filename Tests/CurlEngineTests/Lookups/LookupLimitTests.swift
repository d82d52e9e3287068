import Testing

@testable import CurlEngine

/// The bound on lookups, which several engines share.
@Suite struct LookupLimitTests {
    /// A gate that counts the turns that it is granted.
    private final class Receiver: LookupTurnReceiver {
        private let turns = Locked(0)

        var count: Int { turns.withLock { $0 } }
        func grantTurn() { turns.withLock { $0 += 1 } }
    }

    @Test func turnsComeInTheOrderOfTheirRequests() {
        let limit = LookupLimit(maximum: 2)
        let (first, second, third) = (Receiver(), Receiver(), Receiver())
        for _ in 0..<2 { #expect(limit.begin(first)) }
        for receiver in [second, third, second] { #expect(!limit.begin(receiver)) }
        #expect(limit.waitingCount == 3)
        var counts: [[Int]] = []
        for _ in 0..<3 {
            limit.end()
            counts.append([first, second, third].map(\.count))
        }
        #expect(counts == [[0, 1, 0], [0, 1, 1], [0, 2, 1]])
        #expect(limit.runningCount == 2 && limit.waitingCount == 0)
        for _ in 0..<2 { limit.end() }
        #expect(limit.runningCount == 0)
    }

    /// Lookups for which nobody waits make room for others, up to a bound of their own.
    @Test func abandonedLookupsHaveABoundOfTheirOwn() {
        let limit = LookupLimit(maximum: 1)
        let (receiver, other) = (Receiver(), Receiver())
        #expect(limit.begin(receiver))
        #expect(!limit.begin(other))
        #expect(limit.abandon())
        #expect(other.count == 1 && limit.runningCount == 1)
        for _ in 1..<LookupLimit.maximumAbandoned {
            #expect(limit.abandon())
            #expect(limit.begin(other))
        }
        #expect(!limit.abandon() && limit.runningCount == 1)
        limit.endAbandoned()
        #expect(limit.abandon() && limit.runningCount == 0)
    }
}
