import Testing

@testable import TrellisCore

/// The order of slots in a session with several engines, whose connections belong to an engine.
struct SeveralEnginesQueueTests {
    /// A queue with the connections of each origin on two engines. Requests are such as `a1.7`: origin `a`, engine 1, number 7.
    struct Engines {
        private(set) var queue: AdmissionQueue<String>
        private let limits: ConnectionLimits
        private var places: [Character: AdmissionQueue<String>.OriginIndex] = [:]
        private var homes: [String: Int] = [:]
        /// The number of connections that were opened so far.
        private(set) var opened = 0

        init(total: Int = 100, perOrigin: Int = 100) {
            limits = ConnectionLimits(total: total, perOrigin: perOrigin)
            queue = AdmissionQueue(limits: limits)
            queue.spread { Self.engine($0) }
        }

        private static func engine(_ id: String) -> Int { id.dropFirst().first?.wholeNumberValue ?? 0 }

        func openCount(_ origin: Character, on engine: Int) -> Int {
            places[origin].map { queue[spreadAt: $0].openCount(on: engine) } ?? 0
        }

        /// Requests a slot. Returns whether the request got one.
        @discardableResult
        mutating func enter(_ id: String) -> Bool {
            let entry = queue.enter(id, origin: String(id.prefix(1)))
            places[id.first ?? " "] = entry.originIndex
            if entry.isAdmitted { take([id]) }
            return entry.isAdmitted
        }

        /// Releases the slot of a request. Returns the requests that get one.
        mutating func release(_ id: String) -> [String] {
            guard let place = places[id.first ?? " "], let home = homes[id] else { return [] }
            queue[spreadAt: place].release(on: home)
            let granted = queue.release(id, at: place, on: home, isShared: false)
            take(granted)
            return granted
        }

        /// Ends a hold. Returns the requests that get a slot.
        mutating func endHold() -> [String] {
            let granted = queue.endHold()
            take(granted)
            return granted
        }

        private mutating func take(_ ids: [String]) {
            for id in ids {
                guard let place = places[id.first ?? " "] else { continue }
                let choice = queue[spreadAt: place].take(
                    home: Self.engine(id), streams: 1, limit: limits.perOrigin, mobility: .atLimit,
                    engines: EngineLoads(requests: [0, 0], activeCount: 2) { _ in false })
                homes[id] = choice.engine
                opened += choice.opens ? 1 : 0
            }
        }
    }

    @Test func anOriginKeepsItsIdleConnectionAtTheTotalLimit() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "b0.1", "b0.2"] { #expect(engines.enter(id) == true) }
        for id in ["b0.3", "a0.3", "b0.4"] { #expect(engines.enter(id) == false) }
        // The turn is that of `b`, which has as many connections.
        #expect(engines.release("a0.1") == ["a0.3"])
        #expect(engines.release("b0.1") == ["b0.3"])
        #expect(engines.opened == 4)
        #expect(engines.release("a0.2") == [])
        #expect(engines.endHold() + engines.endHold() == ["b0.4"])
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
        #expect(engines.opened == 3)
    }

    @Test func anOriginWithFewerConnectionsGetsOneInItsTurn() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "a0.3", "b0.1"] { #expect(engines.enter(id) == true) }
        for id in ["b0.2", "a0.4"] { #expect(engines.enter(id) == false) }
        #expect(engines.release("a0.1") == ["b0.2"])
        #expect(engines.opened == 5)
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
        #expect(engines.queue.isHolding)
        #expect(engines.release("b0.2") == [])
        #expect(engines.release("a0.1") == ["a0.3"])
        #expect(engines.enter("b0.3") == true)
        #expect(engines.opened == 4)
    }

    @Test func anOriginThatHasWaitedTakesTheIdleConnectionOfAnother() {
        var engines = Engines(total: 4)
        for id in ["a0.1", "a0.2", "b0.1", "b0.2"] { #expect(engines.enter(id) == true) }
        #expect(engines.release("b0.1") == [])
        #expect(engines.enter("a0.3") == false)
        #expect(engines.endHold() == [])
        #expect(engines.queue.isHolding)
        #expect(engines.enter("a0.4") == false)
        #expect(engines.endHold() == ["a0.3"])
        #expect(engines.opened == 5)
        #expect(!engines.queue.isHolding)
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
        #expect(engines.opened == 4)
        #expect(engines.enter("a0.12") == true)
        #expect(engines.opened == 5)
    }

    @Test func aConnectionServesTheNextRequestOfItsEngine() {
        var engines = Engines(perOrigin: 4)
        for id in ["a0.1", "a0.2", "a1.1", "a1.2"] { #expect(engines.enter(id) == true) }
        for id in ["a0.3", "a0.4", "a0.5", "a1.3", "a0.6", "a1.4"] { #expect(engines.enter(id) == false) }
        #expect(engines.release("a1.1") == ["a1.3"])
        // A request is overtaken by fewer requests than there are connections.
        #expect(engines.release("a1.2") == ["a0.3"])
        #expect(engines.release("a0.1") == ["a0.4"])
        #expect(engines.opened == 4)
    }

    @Test func requestsKeepTheirOrderOnOneConnection() {
        var engines = Engines(perOrigin: 1)
        #expect(engines.enter("a1.1") == true)
        for id in ["a0.1", "a1.2"] { #expect(engines.enter(id) == false) }
        #expect(engines.release("a1.1") == ["a0.1"])
        #expect(engines.release("a0.1") == ["a1.2"])
        #expect(engines.opened == 1)
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
        #expect(engines.opened == 6)
        #expect(moved > 100)
    }
}
