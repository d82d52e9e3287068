import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Random requests in a session with several engines, checked against the connections that the engines would have.
struct EngineModelTests {
    private typealias Scheduler = ConnectionScheduler<Request>

    private struct Request: Hashable {
        let number: Int
        let engine: Int
        let origin: Int
    }

    /// The connections of the engines. A request uses an idle connection of its engine, and otherwise opens one.
    private struct World {
        let limits: ConnectionLimits
        let engineCount: Int
        private(set) var scheduler: Scheduler
        private var places: [Int: Scheduler.OriginIndex] = [:]
        /// The numbers of idle connections by engine, for each origin.
        private(set) var idle: [[Int]]
        private(set) var active: [Request] = []
        private(set) var waiting: [Request] = []
        private var number = 0

        init(_ random: inout SeededGenerator, hasRequestLimit: Bool) {
            let requests: Int? = hasRequestLimit ? Int.random(in: 1...20, using: &random) : nil
            limits = ConnectionLimits(
                total: Int.random(in: 1...40, using: &random), perOrigin: Int.random(in: 1...30, using: &random),
                requestsPerOrigin: requests)
            engineCount = Int.random(in: 2...4, using: &random)
            scheduler = Scheduler(limits: limits)
            for _ in 0..<engineCount { _ = scheduler.addEngine { $0.engine } }
            scheduler.activeCount = engineCount
            let origins = Int.random(in: 1...6, using: &random)
            idle = Array(repeating: Array(repeating: 0, count: engineCount), count: origins)
        }

        var openCount: Int { active.count + idle.joined().reduce(0, +) }

        func openCount(_ origin: Int) -> Int { activeCount(origin) + idle[origin].reduce(0, +) }

        func activeCount(_ origin: Int) -> Int { active.count { $0.origin == origin } }

        mutating func enter(_ random: inout SeededGenerator) {
            let origin = Int.random(in: 0..<idle.count, using: &random)
            let preferred = Bool.random(using: &random) ? Int.random(in: 0..<engineCount, using: &random) : nil
            let busy = Int.random(in: 0..<8, using: &random)
            let engine = scheduler.engine(for: "\(origin)", preferred: preferred) { $0 == busy }
            number += 1
            let request = Request(number: number, engine: engine, origin: origin)
            let entry = scheduler.enter(request, on: engine, origin: "\(origin)")
            places[origin] = entry.originIndex
            if entry.isAdmitted { begin(request, closing: entry.closing) } else { waiting.append(request) }
        }

        mutating func release(_ random: inout SeededGenerator) {
            guard !active.isEmpty else { return }
            let request = active.remove(at: Int.random(in: 0..<active.count, using: &random))
            guard let place = places[request.origin] else { return }
            idle[request.origin][request.engine] += 1
            grant(scheduler.release(request, at: place, on: request.engine, isShared: false))
            // Some connections end with their request. The engine says so after the slot was released, and may have been asked to close
            // the connection in the meantime.
            if Int.random(in: 0..<4, using: &random) == 0 { closeIdle(request.origin, on: request.engine) }
        }

        /// The server ends an idle connection.
        mutating func closeIdle(_ random: inout SeededGenerator) {
            let (origin, engine) = (
                Int.random(in: 0..<idle.count, using: &random), Int.random(in: 0..<engineCount, using: &random)
            )
            closeIdle(origin, on: engine)
        }

        private mutating func closeIdle(_ origin: Int, on engine: Int) {
            guard idle[origin][engine] > 0 else { return }
            idle[origin][engine] -= 1
            let count = active.count { $0.origin == origin && $0.engine == engine } + idle[origin][engine]
            scheduler.setConnections(count, to: "\(origin)", on: engine)
        }

        /// Ends the holds of idle connections, as a timer does.
        mutating func endHolds() { for _ in 0..<2 { grant(scheduler.endHold()) } }

        private mutating func grant(_ grants: [Scheduler.Grant]) {
            for grant in grants {
                guard let index = waiting.firstIndex(of: grant.id) else {
                    Issue.record("\(grant.id) does not wait")
                    continue
                }
                begin(waiting.remove(at: index), closing: grant.closing)
            }
        }

        mutating func leave(_ random: inout SeededGenerator) {
            guard !waiting.isEmpty else { return }
            let request = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
            if let place = places[request.origin] { scheduler.leave(request, at: place) }
        }

        mutating func closeAllIdle(_ random: inout SeededGenerator) {
            let engine = Int.random(in: 0..<engineCount, using: &random)
            for origin in idle.indices { idle[origin][engine] = 0 }
            scheduler.closedAllIdle(on: engine)
        }

        private mutating func begin(_ request: Request, closing: Scheduler.Closing?) {
            if let closing, let origin = Int(closing.origin) {
                #expect(idle[origin][closing.engine] > 0, "no connection to \(closing) is idle")
                idle[origin][closing.engine] -= 1
            }
            if idle[request.origin][request.engine] > 0 { idle[request.origin][request.engine] -= 1 }
            active.append(request)
        }
    }

    @Test(arguments: 0..<UInt64(Scale.count(20, all: 400)))
    func theLimitsHoldForAllEnginesTogetherAndNobodyWaitsWithoutNeed(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var world = World(&random, hasRequestLimit: seed % 3 == 0)
        for _ in 0..<1_000 {
            switch Int.random(in: 0..<200, using: &random) {
            case 0..<100: world.enter(&random)
            case 100..<180: world.release(&random)
            case 180..<190: world.leave(&random)
            case 190..<199: world.closeIdle(&random)
            default: world.closeAllIdle(&random)
            }
            if world.scheduler.isHolding, Bool.random(using: &random) { world.endHolds() }
            #expect(world.openCount <= world.limits.total)
            #expect(world.scheduler.open == world.openCount)
            #expect(world.scheduler.waitingCount == world.waiting.count)
            for origin in world.idle.indices {
                #expect(world.openCount(origin) <= world.limits.perOrigin)
                let count = world.activeCount(origin)
                let couldGo =
                    world.active.count < world.limits.total && count < world.limits.perOrigin
                    && count < world.limits.requestsPerOrigin ?? .max
                #expect(
                    !couldGo || world.scheduler.isHolding || !world.waiting.contains { $0.origin == origin },
                    "\(origin) waits without need")
            }
        }
        // Every request gets its slot.
        while !world.active.isEmpty {
            world.release(&random)
            world.endHolds()
        }
        #expect(world.waiting.isEmpty)
    }

    /// Sixty tasks send requests to two origins in turn, more than the connections of the session.
    @Test(arguments: [2, 4], [8, 64])
    func originsKeepTheirConnectionsAtTheTotalLimit(_ engines: Int, _ total: Int) {
        var random = SeededGenerator(seed: 7)
        var scheduler = Scheduler(limits: ConnectionLimits(total: total))
        for _ in 0..<engines { _ = scheduler.addEngine { $0.engine } }
        scheduler.activeCount = engines
        var (places, active, closed) = ([Int: Scheduler.OriginIndex](), [Request](), 0)
        func begin(_ request: Request, closing: Scheduler.Closing?) {
            active.append(request)
            if closing != nil { closed += 1 }
        }
        for number in 0..<3_000 {
            if number >= 8 * total, let index = active.indices.randomElement(using: &random) {
                let request = active.remove(at: index)
                guard let place = places[request.origin] else { continue }
                for grant in scheduler.release(request, at: place, on: request.engine, isShared: false) {
                    begin(grant.id, closing: grant.closing)
                }
            }
            let origin = number % 2
            let engine = scheduler.engine(for: "\(origin)") { _ in false }
            let request = Request(number: number, engine: engine, origin: origin)
            let entry = scheduler.enter(request, on: engine, origin: "\(origin)")
            places[origin] = entry.originIndex
            if entry.isAdmitted { begin(request, closing: entry.closing) }
        }
        #expect(closed < 150)
    }

    @Test func aReleaseAtTheTotalLimitIsCheap() {
        let count = 2_000
        var scheduler = ConnectionScheduler<Int>(limits: ConnectionLimits(total: count, perOrigin: 1))
        for _ in 0..<2 { _ = scheduler.addEngine { $0 % 2 } }
        let places = (0..<count).map { scheduler.enter($0, on: $0 % 2, origin: "\($0)").originIndex }
        for origin in 0..<count { _ = scheduler.enter(count + origin, on: origin % 2, origin: "\(count + origin)") }
        var most = 0
        for origin in 0..<count {
            let before = scheduler.comparisons
            let granted = scheduler.release(origin, at: places[origin], on: origin % 2, isShared: false)
            #expect(granted == [.init(id: count + origin, closing: .init(engine: origin % 2, origin: "\(origin)"))])
            most = max(most, scheduler.comparisons - before)
        }
        // Five paths through a heap of that many, with two comparisons at each step.
        #expect(most <= 110)
    }
}
