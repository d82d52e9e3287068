import Testing

@testable import CurlEngine

/// The bound on lookups, which several engines share.
@Suite struct LookupLimitTests {
    /// A gate that counts the turns that it is granted.
    private final class Receiver: LookupTurnReceiver {
        private let turns = Locked(0)
        private let stuck: Locked<Bool>

        init(isStuck: Bool = false) { stuck = Locked(isStuck) }

        var count: Int { turns.withLock { $0 } }
        var isStuck: Bool { stuck.withLock { $0 } }
        func grantTurn() { turns.withLock { $0 += 1 } }
        func runAgain() { stuck.withLock { $0 = false } }
    }

    @Test func aGateWhoseEngineIsStuckIsPassedOverUntilItRunsAgain() {
        let limit = LookupLimit(maximum: 1)
        let (stuck, other) = (Receiver(isStuck: true), Receiver())
        #expect(limit.begin(other))
        #expect(!limit.begin(stuck))
        for _ in 0..<3 { #expect(!limit.begin(other)) }
        limit.end()
        #expect(stuck.count == 0)
        #expect(other.count == 1)
        #expect(limit.waitingCount == 3)
        stuck.runAgain()
        limit.end()
        #expect(stuck.count == 1)
        for _ in 0..<3 { limit.end() }
        #expect(other.count == 3)
        #expect(limit.runningCount == 0)
    }

    @Test func aGateWhoseEngineIsStuckGetsATurnIfNoOtherWaits() {
        let limit = LookupLimit(maximum: 1)
        let stuck = Receiver(isStuck: true)
        #expect(limit.begin(stuck))
        #expect(!limit.begin(stuck))
        limit.end()
        #expect(stuck.count == 1)
    }
}
