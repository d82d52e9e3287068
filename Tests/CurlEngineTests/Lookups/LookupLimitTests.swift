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
        func becomeStuck() { stuck.withLock { $0 = true } }
    }

    @Test func aGateWhoseEngineIsStuckIsPassedOverUntilItRunsAgain() {
        let limit = LookupLimit(maximum: 1)
        let (stuck, other) = (Receiver(isStuck: true), Receiver())
        #expect(limit.begin(other))
        #expect(!limit.begin(stuck))
        for _ in 0..<3 { #expect(!limit.begin(other)) }
        limit.end(other)
        #expect(stuck.count == 0)
        #expect(other.count == 1)
        #expect(limit.waitingCount == 3)
        stuck.runAgain()
        limit.end(other)
        #expect(stuck.count == 1)
        limit.end(stuck)
        for _ in 0..<2 { limit.end(other) }
        #expect(other.count == 3)
        #expect(limit.runningCount == 0)
    }

    /// Lookups for which nobody waits make room for others, up to a bound of their own.
    @Test func abandonedLookupsHaveABoundOfTheirOwn() {
        let limit = LookupLimit(maximum: 1)
        let (receiver, other) = (Receiver(), Receiver())
        #expect(limit.begin(receiver))
        #expect(!limit.begin(other))
        #expect(limit.abandon(receiver))
        #expect(other.count == 1 && limit.runningCount == 1)
        for _ in 1..<LookupLimit.maximumAbandoned {
            #expect(limit.abandon(other))
            #expect(limit.begin(other))
        }
        #expect(!limit.abandon(other) && limit.runningCount == 1)
        limit.endAbandoned()
        #expect(limit.abandon(other) && limit.runningCount == 0)
    }

    @Test func aGateWhoseEngineIsStuckGetsATurnIfNoOtherWaits() {
        let limit = LookupLimit(maximum: 1)
        let stuck = Receiver(isStuck: true)
        #expect(limit.begin(stuck))
        #expect(!limit.begin(stuck))
        limit.end(stuck)
        #expect(stuck.count == 1)
    }

    @Test func aGateThatRunsAgainDoesNotWaitForOneThatIsStillStuck() {
        let limit = LookupLimit(maximum: 1)
        let (first, second, other) = (Receiver(isStuck: true), Receiver(isStuck: true), Receiver())
        #expect(limit.begin(other))
        for receiver in [first, second, other, other] { #expect(!limit.begin(receiver)) }
        limit.end(other)
        #expect(other.count == 1)
        second.runAgain()
        limit.end(other)
        #expect((first.count, second.count, other.count) == (0, 1, 1))
    }

    @Test func theLookupsOfAnEngineThatIsStuckHoldUpNoOthers() {
        let limit = LookupLimit(maximum: 2)
        let (stuck, early, late) = (Receiver(), Receiver(), Receiver())
        for _ in 0..<2 { #expect(limit.begin(stuck)) }
        #expect(!limit.begin(early))
        stuck.becomeStuck()
        #expect(limit.begin(late))
        #expect(early.count == 1)
        // The bound holds for the others.
        #expect(!limit.begin(late))
        limit.end(early)
        #expect(late.count == 1)
        stuck.runAgain()
        for _ in 0..<2 { limit.end(stuck) }
        for _ in 0..<2 { limit.end(late) }
        #expect(limit.runningCount == 0)
    }

    /// No lookup begins or ends after the engine became stuck.
    @Test func aGateThatLooksAgainGetsTheTurnsOfAnEngineThatIsStuck() {
        let limit = LookupLimit(maximum: 1)
        let (stuck, waiting) = (Receiver(), Receiver())
        #expect(limit.begin(stuck))
        #expect(!limit.begin(waiting))
        limit.reexamine()
        #expect(waiting.count == 0)
        stuck.becomeStuck()
        limit.reexamine()
        #expect(waiting.count == 1)
        limit.reexamine()
        #expect(waiting.count == 1)
        limit.end(waiting)
        limit.end(stuck)
        #expect(limit.runningCount == 0)
    }
}
