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
        let closed = Locked(0)
        /// The closures for the ends of closings, if connections are not closed at once.
        let closings = Locked<[@Sendable () -> Void]?>(nil)
        func closeIdleConnection(to origin: String, then body: @escaping @Sendable () -> Void) {
            closed.withLock { $0 += 1 }
            let isLate = closings.withLock { closings in
                closings?.append(body)
                return closings != nil
            }
            if !isLate { body() }
        }
        var origins: [String] { granted.withLock { $0 } }
    }

    private let first = Receiver()
    private let second = Receiver()
    private let third = Receiver()

    @Test func anUnusedPlaceIsPassedOn() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.grants("a", for: first))
        #expect(!budget.grants("a", for: second))
        #expect(!budget.grants("a", for: third))
        budget.end("a", for: first)
        #expect(second.origins == ["a"])
        // The transfers that waited there have left.
        budget.end("a", for: second)
        #expect(third.origins == ["a"])
        #expect(budget.inUseCount("a") == 1)
        budget.end("a", for: third)
        #expect(budget.inUseCount("a") == 0)
    }

    @Test func aPlaceAtOnceIsOneThatIsFree() {
        let budget = ConnectionBudget(perOrigin: 2)
        #expect(budget.beginAtOnce("a", for: first))
        budget.setIdle("a", 1, for: second)
        // The idle connection would have to be closed.
        #expect(!budget.beginAtOnce("a", for: first) && budget.inUseCount("a") == 1)
        budget.setIdle("a", 0, for: second)
        #expect(budget.beginAtOnce("a", for: first))
        #expect(!budget.beginAtOnce("a", for: first) && budget.inUseCount("a") == 2)
        for _ in 1...2 { budget.end("a", for: first) }
        // The gate does not wait for the place that it did not get.
        #expect(first.origins.isEmpty && budget.inUseCount("a") == 0)
    }

    @Test func aFreePlaceBelongsToTheFirstInLine() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.grants("a", for: first))
        #expect(!budget.grants("a", for: second))
        budget.end("a", for: first)
        #expect(!budget.grants("a", for: first))
        budget.end("a", for: second)
        #expect(first.origins == ["a"])
        #expect(second.origins == ["a"])
    }

    @Test func theTotalHoldsForAllOriginsWhichTakeTurns() {
        let budget = ConnectionBudget(perOrigin: 2, total: 2)
        #expect(budget.grants("a", for: first))
        #expect(budget.grants("a", for: first))
        #expect(!budget.grants("b", for: first))
        #expect(!budget.grants("b", for: second))
        #expect(!budget.grants("c", for: third))
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
        #expect(!budget.grants("a", for: first))
        budget.end("a", for: first)
        #expect(first.origins == [])
        budget.end("a", for: first)
        #expect(first.origins == ["a"])
    }

    // MARK: Fairness

    @Test func aPlaceIsRequestedForAnEngineThatHasNone() {
        let budget = ConnectionBudget(perOrigin: 2)
        #expect(budget.grants("a", for: first) && budget.grants("a", for: first))
        #expect(!budget.grants("a", for: first))
        #expect(budget.owedCount("a", by: first) == 0)
        #expect(!budget.grants("a", for: second))
        #expect(budget.owedCount("a", by: first) == 1)
        #expect(first.requested.withLock { $0 } == 1)
        budget.end("a", for: first)
        // The first engine was first in line, and does not get its own place back.
        #expect(first.origins == [] && second.origins == ["a"])
        #expect(budget.owedCount("a", by: first) == 0)
        // Each engine has one place now, so that an exchange would help neither.
        #expect(!budget.grants("a", for: second))
        #expect(budget.owedCount("a", by: first) == 0)
    }

    @Test func placesAreRequestedInTurn() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.grants("a", for: first))
        #expect(!budget.grants("a", for: second) && !budget.grants("a", for: third))
        #expect(budget.owedCount("a", by: first) == 1)
        budget.end("a", for: first)
        #expect(second.origins == ["a"] && third.origins == [])
        #expect(budget.owedCount("a", by: second) == 1)
        budget.end("a", for: second)
        #expect(third.origins == ["a"] && budget.owedCount("a", by: third) == 0)
    }

    @Test func theOriginWithTheMostPlacesReturnsOneForTheTotal() {
        let budget = ConnectionBudget(perOrigin: 4, total: 4)
        #expect(budget.grants("a", for: first))
        for _ in 0..<3 { #expect(budget.grants("b", for: first)) }
        #expect(!budget.grants("c", for: first))
        #expect(budget.owedCount("a", by: first) == 0 && budget.owedCount("b", by: first) == 1)
        budget.end("b", for: first)
        #expect(first.origins == ["c"] && budget.owedCount("b", by: first) == 0)
    }

    @Test func aRequestIsWithdrawnIfNothingWaits() {
        let budget = ConnectionBudget(perOrigin: 3)
        for gate in [first, first, second] { #expect(budget.grants("a", for: gate)) }
        #expect(!budget.grants("a", for: third))
        #expect(budget.owedCount("a", by: first) == 1)
        budget.end("a", for: second)
        #expect(third.origins == ["a"] && budget.owedCount("a", by: first) == 0)
        #expect(first.requested.withLock { $0 } == 2)
    }

    // MARK: Idle connections

    @Test func anotherEngineClosesAnIdleConnectionAtTheLimit() {
        let budget = ConnectionBudget(perOrigin: 2)
        for _ in 0..<2 { #expect(budget.grants("a", for: first)) }
        budget.end("a", for: first, idle: 1)
        budget.end("a", for: first, idle: 2)
        guard case .afterClosing(let holder) = budget.begin("a", for: second) else {
            Issue.record("no connection is closed")
            return
        }
        #expect(holder === first)
        // An engine uses its own idle connection.
        #expect(budget.grants("a", for: first))
        budget.end("a", for: first, idle: 1)
        budget.end("a", for: second)
        #expect(budget.grants("a", for: second))
        #expect(!budget.grants("a", for: second))
        #expect(!budget.grants("a", for: second))
        budget.end("a", for: second)
        #expect(second.origins == ["a"])
        #expect(first.closed.withLock { $0 } == 0)
    }

    /// A place may be granted before the gate has noticed that it has more idle connections.
    @Test func anEngineClosesNoneOfItsOwnConnections() {
        let budget = ConnectionBudget(perOrigin: 2)
        for _ in 0..<2 { #expect(budget.grants("a", for: first)) }
        #expect(!budget.grants("a", for: first))
        budget.end("a", for: first)
        #expect(first.origins == ["a"])
        budget.setIdle("a", 1, for: first)
        budget.end("a", for: first, idle: 1)
        #expect(budget.grants("a", for: first))
        #expect(!budget.grants("a", for: first))
        budget.end("a", for: first)
        #expect(first.origins == ["a", "a"])
        #expect(first.closed.withLock { $0 } == 0)
    }

    @Test func aPlaceThatIsPassedOnClosesAnIdleConnection() {
        let budget = ConnectionBudget(perOrigin: 2)
        for gate in [first, second] { #expect(budget.grants("a", for: gate)) }
        #expect(!budget.grants("a", for: third))
        budget.end("a", for: first, idle: 1)
        #expect(third.origins == ["a"])
        #expect(first.closed.withLock { $0 } == 1)
        budget.setIdle("a", 0, for: first)
        for gate in [second, third] { budget.end("a", for: gate) }
        #expect(budget.inUseCount("a") == 0)
    }

    /// A gate returns its place before it knows whether the connection stays open.
    @Test func aConnectionThatBecomesIdleAfterItsPlaceWasPassedOnIsClosed() {
        let budget = ConnectionBudget(perOrigin: 1)
        #expect(budget.grants("a", for: first))
        #expect(!budget.grants("a", for: second))
        budget.end("a", for: first)
        #expect(second.origins == ["a"])
        #expect(first.closed.withLock { $0 } == 0)
        budget.setIdle("a", 1, for: first)
        #expect(first.closed.withLock { $0 } == 1)
        budget.setIdle("a", 0, for: first)
        budget.end("a", for: second)
        // The connection of the gate that has the only one stays.
        budget.setIdle("a", 1, for: second)
        #expect(second.closed.withLock { $0 } == 0)
    }

    @Test func oneConnectionIsClosedForOnePlaceThatWasPassedOn() {
        let budget = ConnectionBudget(perOrigin: 3)
        for _ in 0..<3 { #expect(budget.grants("a", for: first)) }
        #expect(!budget.grants("a", for: second))
        first.closings.withLock { $0 = [] }
        budget.end("a", for: first)
        budget.setIdle("a", 1, for: first)
        #expect(second.origins == ["a"])
        #expect(first.closed.withLock { $0 } == 1)
        // The first connection is still open when the next one becomes idle, whose place is free.
        budget.end("a", for: first, idle: 1)
        budget.setIdle("a", 2, for: first)
        #expect(first.closed.withLock { $0 } == 1)
        budget.setIdle("a", 1, for: first)
        for body in first.closings.withLock({ $0 }) ?? [] { body() }
        // The connection that is left counts.
        guard case .afterClosing(let holder) = budget.begin("a", for: third) else {
            Issue.record("no connection is closed")
            return
        }
        #expect(holder === first && first.closed.withLock { $0 } == 1)
    }
}

extension ConnectionBudget {
    /// Takes a place, and returns whether the gate has it at once.
    fileprivate func grants(_ name: String, for gate: any ConnectionReceiver) -> Bool {
        if case .granted = begin(name, for: gate) { true } else { false }
    }
}
