import Testing

@testable import CurlEngine

/// The bound on connections that carry streams, which several engines share.
@Suite struct ConnectionBudgetTests {
    /// A gate that stores the places that it is granted.
    private final class Receiver: ConnectionReceiver {
        let granted = Locked<[String]>([])
        let requested = Locked(0)
        func requestConnections(of origin: String) { requested.withLock { $0 += 1 } }
        func grantConnection(to origin: String) { granted.withLock { $0.append(origin) } }
        var origins: [String] { granted.withLock { $0 } }
        let stuck = Locked(false)
        var isStuck: Bool { stuck.withLock { $0 } }
    }

    private let first = Receiver()
    private let second = Receiver()
    private let third = Receiver()

    @Test func anUnusedPlaceIsPassedOn() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.begin("a", for: first))
        #expect(!budget.begin("a", for: second))
        #expect(!budget.begin("a", for: third))
        budget.end("a", for: first)
        #expect(second.origins == ["a"])
        // The transfers that waited there have left.
        budget.end("a", for: second)
        #expect(third.origins == ["a"])
        #expect(budget.inUseCount("a") == 1)
        budget.end("a", for: third)
        #expect(budget.inUseCount("a") == 0)
    }

    @Test func aGateWhoseEngineIsStuckIsPassedOver() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.begin("a", for: first))
        #expect(!budget.begin("a", for: second))
        #expect(!budget.begin("a", for: third))
        second.stuck.withLock { $0 = true }
        budget.end("a", for: first)
        #expect(third.origins == ["a"])
        // No other gate waits.
        budget.end("a", for: third)
        #expect(second.origins == ["a"])
    }

    @Test func aFreePlaceBelongsToTheFirstInLine() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.begin("a", for: first))
        #expect(!budget.begin("a", for: second))
        budget.end("a", for: first)
        #expect(!budget.begin("a", for: first))
        budget.end("a", for: second)
        #expect(first.origins == ["a"])
        #expect(second.origins == ["a"])
    }

    @Test func theTotalHoldsForAllOriginsWhichTakeTurns() {
        let budget = ConnectionBudget(perOrigin: 2, total: 2)
        #expect(budget.begin("a", for: first))
        #expect(budget.begin("a", for: first))
        #expect(!budget.begin("b", for: first))
        #expect(!budget.begin("b", for: second))
        #expect(!budget.begin("c", for: third))
        for origin in ["a", "a", "b"] { budget.end(origin, for: first) }
        budget.end("c", for: third)
        #expect(first.origins == ["b"])
        #expect(third.origins == ["c"])
        #expect(second.origins == ["b"])
        budget.end("b", for: second)
        #expect(["a", "b", "c"].map(budget.inUseCount) == [0, 0, 0])
    }

    @Test func aConnectionBeyondTheBoundIsCountedUntilItsEnd() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.add("a", for: first))
        #expect(!budget.add("a", for: first))
        #expect(!budget.begin("a", for: first))
        budget.end("a", for: first)
        #expect(first.origins == [])
        budget.end("a", for: first)
        #expect(first.origins == ["a"])
    }

    // MARK: Fairness

    @Test func aPlaceIsRequestedForAnEngineThatHasNone() {
        let budget = ConnectionBudget(perOrigin: 2)
        #expect(budget.begin("a", for: first) && budget.begin("a", for: first))
        #expect(!budget.begin("a", for: first))
        #expect(budget.owedCount("a", by: first) == 0)
        #expect(!budget.begin("a", for: second))
        #expect(budget.owedCount("a", by: first) == 1)
        #expect(first.requested.withLock { $0 } == 1)
        budget.end("a", for: first)
        // The first engine was first in line, and does not get its own place back.
        #expect(first.origins == [] && second.origins == ["a"])
        #expect(budget.owedCount("a", by: first) == 0)
        // Each engine has one place now, so that an exchange would help neither.
        #expect(!budget.begin("a", for: second))
        #expect(budget.owedCount("a", by: first) == 0)
    }

    @Test func placesAreRequestedInTurn() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.begin("a", for: first))
        #expect(!budget.begin("a", for: second) && !budget.begin("a", for: third))
        #expect(budget.owedCount("a", by: first) == 1)
        budget.end("a", for: first)
        #expect(second.origins == ["a"] && third.origins == [])
        #expect(budget.owedCount("a", by: second) == 1)
        budget.end("a", for: second)
        #expect(third.origins == ["a"] && budget.owedCount("a", by: third) == 0)
    }

    @Test func theOriginWithTheMostPlacesReturnsOneForTheTotal() {
        let budget = ConnectionBudget(perOrigin: 4, total: 4)
        #expect(budget.begin("a", for: first))
        for _ in 0..<3 { #expect(budget.begin("b", for: first)) }
        #expect(!budget.begin("c", for: first))
        #expect(budget.owedCount("a", by: first) == 0 && budget.owedCount("b", by: first) == 1)
        budget.end("b", for: first)
        #expect(first.origins == ["c"] && budget.owedCount("b", by: first) == 0)
    }

    @Test func aRequestIsWithdrawnIfNothingWaits() {
        let budget = ConnectionBudget(perOrigin: 3)
        for gate in [first, first, second] { #expect(budget.begin("a", for: gate)) }
        #expect(!budget.begin("a", for: third))
        #expect(budget.owedCount("a", by: first) == 1)
        budget.end("a", for: second)
        #expect(third.origins == ["a"] && budget.owedCount("a", by: first) == 0)
        #expect(first.requested.withLock { $0 } == 2)
    }
}
