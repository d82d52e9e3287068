import Testing

@testable import TrellisCore

/// The order of slots in a session with several engines, whose connections belong to an engine.
struct EngineConnectionsTests {
    /// A scheduler with two engines. Requests are such as `a1.7`: origin `a`, engine 1, number 7.
    struct Engines {
        private(set) var scheduler: ConnectionScheduler<String>
        private var places: [Character: ConnectionScheduler<String>.OriginIndex] = [:]
        /// The connections that were closed for others so far, such as `a1`.
        private(set) var closed: [String] = []

        init(total: Int = 100, perOrigin: Int = 100) {
            scheduler = ConnectionScheduler(limits: ConnectionLimits(total: total, perOrigin: perOrigin))
            for _ in 0..<2 { _ = scheduler.addEngine { Self.engine($0) } }
        }

        private static func engine(_ id: String) -> Int { id.dropFirst().first?.wholeNumberValue ?? 0 }

        func openCount(_ origin: Character, on engine: Int) -> Int {
            places[origin].map { scheduler.origins[$0.value].openCount(on: engine) } ?? 0
        }

        /// Requests a slot. Returns whether the request got one.
        @discardableResult
        mutating func enter(_ id: String, priority: RequestPriority = .normal) -> Bool {
            let entry = scheduler.enter(
                id, on: Self.engine(id), origin: String(id.prefix(1)), priority: priority)
            places[id.first ?? " "] = entry.originIndex
            close(entry.closing)
            return entry.isAdmitted
        }

        /// Releases the slot of a request. Returns the requests that get one.
        mutating func release(_ id: String) -> [String] {
            guard let place = places[id.first ?? " "] else { return [] }
            let granted = scheduler.release(id, at: place, on: Self.engine(id), isShared: false)
            for grant in granted { close(grant.closing) }
            return granted.map(\.id)
        }

        mutating func isFirst(_ id: String) -> Bool {
            places[id.first ?? " "].map { scheduler.isFirst(id, at: $0) } ?? false
        }

        /// Ends a hold. Returns the requests that get a slot.
        mutating func endHold() -> [String] {
            let granted = scheduler.endHold()
            for grant in granted { close(grant.closing) }
            return granted.map(\.id)
        }

        mutating func leave(_ id: String) {
            if let place = places[id.first ?? " "] { scheduler.leave(id, at: place) }
        }

        mutating func closeAllIdle(on engine: Int) { scheduler.closedAllIdle(on: engine) }

        mutating func count(_ count: Int, to origin: Character, on engine: Int) {
            scheduler.setConnections(count, to: String(origin), on: engine)
        }

        private mutating func close(_ closing: ConnectionScheduler<String>.Closing?) {
            if let closing { closed.append("\(closing.origin)\(closing.engine)") }
        }
    }

    @Test func anOriginKeepsItsIdleConnectionAtTheTotalLimit() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "b0.1", "b0.2"] { #expect(engines.enter(id) == true) }
        for id in ["b0.3", "a0.3", "b0.4"] { #expect(engines.enter(id) == false) }
        // The turn is that of `b`, which has as many connections.
        #expect(engines.release("a0.1") == ["a0.3"])
        #expect(engines.release("b0.1") == ["b0.3"])
        #expect(engines.closed.isEmpty)
        #expect(engines.release("a0.2") == [])
        #expect(engines.endHold() + engines.endHold() == ["b0.4"])
        #expect(engines.closed == ["a0"])
    }

    /// The only connection of the origin stays in use.
    @Test func anOriginIsPassedOverForALimitedNumberOfTurns() {
        var engines = Engines(total: 2)
        for id in ["a0.1", "b0.1"] { #expect(engines.enter(id) == true) }
        #expect(engines.enter("a0.2") == false)
        for number in 2...20 { #expect(engines.enter("b0.\(number)") == false) }
        var (granted, running) = ([String](), "b0.1")
        while granted.count < 20, running != "a0.2", let next = engines.release(running).first {
            granted.append(next)
            running = next
            // Time passes.
            #expect(engines.endHold() == [])
        }
        #expect(granted == (2...9).map { "b0.\($0)" } + ["a0.2"])
        #expect(engines.closed == ["b0"])
    }

    @Test func anOriginWithFewerConnectionsGetsOneInItsTurn() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "a0.3", "b0.1"] { #expect(engines.enter(id) == true) }
        for id in ["b0.2", "a0.4"] { #expect(engines.enter(id) == false) }
        #expect(engines.release("a0.1") == ["b0.2"])
        #expect(engines.closed == ["a0"])
    }

    @Test func anOriginWithoutConnectionsGetsOneInItsTurn() {
        var engines = Engines(total: 2)
        for id in ["a0.1", "b0.1"] { #expect(engines.enter(id) == true) }
        for id in ["c0.1", "a0.2"] { #expect(engines.enter(id) == false) }
        #expect(engines.release("a0.1") == ["c0.1"])
        #expect(engines.release("c0.1") == ["a0.2"])
    }

    @Test func anOriginWaitsForItsOwnConnectionsAtTheTotalLimit() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "b0.1", "b0.2"] { #expect(engines.enter(id) == true) }
        #expect(engines.release("b0.1") == [])
        #expect(engines.enter("a0.3") == false)
        #expect(engines.scheduler.isHolding)
        #expect(engines.release("b0.2") == [])
        #expect(engines.release("a0.1") == ["a0.3"])
        #expect(engines.enter("b0.3") == true)
        #expect(engines.closed.isEmpty)
    }

    @Test func anOriginThatHasWaitedTakesTheIdleConnectionOfAnother() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "b0.1", "b0.2"] { #expect(engines.enter(id) == true) }
        #expect(engines.release("b0.1") == [])
        #expect(engines.enter("a0.3") == false)
        #expect(engines.endHold() == [])
        #expect(engines.scheduler.isHolding)
        #expect(engines.enter("a0.4") == false)
        #expect(engines.endHold() == ["a0.3"])
        #expect(engines.closed == ["b0"])
        #expect(!engines.scheduler.isHolding)
    }

    @Test func anOriginWithFewerConnectionsTakesAnIdleOneAtOnce() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "b0.1", "b0.2", "b0.3"] { #expect(engines.enter(id) == true) }
        #expect(engines.release("b0.1") == [])
        #expect(engines.enter("a0.2") == true)
        #expect(engines.enter("c0.1") == false)
    }

    @Test func anIdleConnectionThatWasNotUsedForLongIsTakenAtOnce() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "b0.1", "b0.2"] { #expect(engines.enter(id) == true) }
        #expect(engines.release("b0.1") == [])
        for number in 3...11 {
            #expect(engines.release("a0.\(number - 2)") == [])
            #expect(engines.enter("a0.\(number)") == true)
        }
        #expect(engines.closed.isEmpty)
        #expect(engines.enter("a0.12") == true)
        #expect(engines.closed == ["b0"])
    }

    @Test func theConnectionThatWasUsedLeastRecentlyIsClosed() {
        var engines = Engines(total: 3)
        for id in ["a0.1", "b1.1", "c0.1"] { #expect(engines.enter(id) == true) }
        for id in ["b1.1", "a0.1", "c0.1"] { #expect(engines.release(id) == []) }
        #expect(engines.enter("d0.1") == true)
        #expect(engines.closed == ["b1"])
        #expect(engines.enter("a0.2") == true)
        #expect(engines.enter("b1.2") == true)
        #expect(engines.closed == ["b1", "c0"])
    }

    @Test func aConnectionOfTheSameOriginIsClosedFirst() {
        var engines = Engines(total: 2)
        for id in ["b0.1", "a0.1"] { #expect(engines.enter(id) == true) }
        for id in ["b0.1", "a0.1"] { #expect(engines.release(id) == []) }
        #expect(engines.enter("a1.1") == true)
        #expect(engines.closed == ["a0"])
    }

    @Test func theConnectionsOfAnEngineThatWasIdleForLongDoNotCount() {
        var engines = Engines(total: 2)
        for id in ["a0.1", "a1.1"] { #expect(engines.enter(id) == true) }
        for id in ["a0.1", "a1.1"] { #expect(engines.release(id) == []) }
        engines.closeAllIdle(on: 0)
        #expect(engines.enter("b0.1") == true)
        #expect(engines.closed.isEmpty)
        #expect(engines.enter("c0.1") == true)
        #expect(engines.closed == ["a1"])
    }

    @Test func anIdleConnectionThatItsEngineHasClosedDoesNotCount() {
        var engines = Engines(total: 2)
        for id in ["a0.1", "b1.1"] { #expect(engines.enter(id) == true) }
        for id in ["a0.1", "b1.1"] { #expect(engines.release(id) == []) }
        engines.count(0, to: "a", on: 0)
        #expect(engines.scheduler.open == 1)
        #expect(engines.enter("c0.1") == true)
        #expect(engines.closed.isEmpty)
    }

    @Test func aConnectionThatEndsWithItsRequestDoesNotCount() {
        var engines = Engines(total: 2)
        for id in ["a0.1", "a0.2"] { #expect(engines.enter(id) == true) }
        // The slot counts until it is released.
        engines.count(1, to: "a", on: 0)
        #expect(engines.scheduler.open == 2)
        #expect(engines.release("a0.1") == [])
        engines.count(1, to: "a", on: 0)
        #expect(engines.scheduler.open == 1)
        #expect(engines.enter("b0.1") == true)
        #expect(engines.closed.isEmpty)
    }

    /// The connections of an engine may be more than its requests have needed.
    @Test func aConnectionThatNoRequestHasNeededIsClosedForAnother() {
        var engines = Engines(total: 2)
        #expect(engines.enter("a0.1") == true)
        engines.count(2, to: "a", on: 0)
        #expect(engines.scheduler.open == 2)
        #expect(engines.enter("b1.1") == true)
        #expect(engines.closed == ["a0"])
        engines.count(3, to: "c", on: 1)
        #expect(engines.scheduler.open == 2)
    }

    @Test func requestsBeforeTheSecondEngineCountOnTheFirst() {
        var scheduler = ConnectionScheduler<Int>(limits: ConnectionLimits(total: 2))
        #expect(scheduler.addEngine { _ in 0 } == false)
        let place = scheduler.enter(1, origin: "a").originIndex
        #expect(scheduler.enter(2, origin: "a").isAdmitted)
        #expect(scheduler.addEngine { _ in 0 } == true)
        #expect(scheduler.addEngine { _ in 0 } == false)
        #expect(scheduler.open == 2)
        #expect(!scheduler.enter(3, origin: "a").isAdmitted)
        #expect(scheduler.release(1, at: place, on: 0, isShared: false) == [.init(id: 3, closing: nil)])
        #expect(scheduler.open == 2)
    }

    @Test func aConnectionServesTheNextRequestOfItsEngine() {
        var engines = Engines(perOrigin: 4)
        for id in ["a0.1", "a0.2", "a1.1", "a1.2"] { #expect(engines.enter(id) == true) }
        for id in ["a0.3", "a0.4", "a0.5", "a1.3", "a1.4"] { #expect(engines.enter(id) == false) }
        #expect(engines.release("a1.1") == ["a1.3"])
        #expect(engines.release("a1.2") == ["a1.4"])
        #expect(engines.release("a0.1") == ["a0.3"])
        #expect(engines.closed.isEmpty)
        // No other request of the engine waits, but one may come at once.
        #expect(engines.release("a1.3") == [])
        #expect(engines.scheduler.isHolding)
        #expect(engines.endHold() + engines.endHold() == ["a0.4"])
        #expect(engines.closed == ["a1"])
    }

    @Test func aRequestIsOvertakenByALimitedNumberOfThoseOfAnotherEngine() {
        var engines = Engines(perOrigin: 1)
        #expect(engines.enter("a1.1") == true)
        #expect(engines.enter("a0.1") == false)
        for number in 2...20 { #expect(engines.enter("a1.\(number)") == false) }
        var running = "a1.1"
        for number in 2...6 {
            #expect(engines.release(running) == ["a1.\(number)"])
            running = "a1.\(number)"
        }
        #expect(engines.release(running) == ["a0.1"])
        #expect(engines.release("a0.1") == ["a1.7"])
        #expect(engines.closed == ["a1", "a0"])
    }

    @Test func aHigherPriorityComesFirstOnWhateverEngine() {
        var engines = Engines(perOrigin: 2)
        for id in ["a0.1", "a1.1"] { #expect(engines.enter(id) == true) }
        #expect(engines.enter("a1.2") == false)
        #expect(engines.isFirst("a1.2") == true)
        #expect(engines.enter("a0.2", priority: .high) == false)
        #expect(engines.isFirst("a0.2") == true)
        #expect(engines.isFirst("a1.2") == false)
        #expect(engines.release("a1.1") == ["a0.2"])
        #expect(engines.release("a0.1") == ["a1.2"])
        #expect(engines.closed == ["a1", "a0"])
    }

    @Test func whoLeavesIsPassedOverOnItsEngine() {
        var engines = Engines(perOrigin: 2)
        for id in ["a0.1", "a1.1"] { #expect(engines.enter(id) == true) }
        for id in ["a1.2", "a1.3"] { #expect(engines.enter(id) == false) }
        engines.leave("a1.2")
        #expect(engines.release("a1.1") == ["a1.3"])
        #expect(engines.scheduler.waitingCount == 0)
    }

    @Test func enginesShareTheConnectionsUntilTheirNumbersAreEven() throws {
        var engines = Engines(perOrigin: 4)
        var running = (1...4).map { "a1.\($0)" }
        for id in running { #expect(engines.enter(id) == true) }
        for number in 5...84 { #expect(engines.enter("a\(number % 2).\(number)") == false) }
        var moved = 0
        for _ in 0..<60 {
            try #require(!running.isEmpty)
            let granted = engines.release(running.removeFirst())
            #expect(granted.count == 1)
            running += granted
            moved += engines.openCount("a", on: 0)
        }
        #expect(engines.openCount("a", on: 0) == 2)
        #expect(engines.openCount("a", on: 1) == 2)
        // Two connections were exchanged, and no more.
        #expect(engines.closed == ["a1", "a1"])
        #expect(moved > 100)
    }
}
