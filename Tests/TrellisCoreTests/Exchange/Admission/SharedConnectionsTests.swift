import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The slots of an origin whose connections carry as many requests as its server allows.
struct SharedConnectionsTests {
    private typealias Scheduler = ConnectionScheduler<Int>

    /// A scheduler with one origin, whose first request has found out that connections are shared.
    private struct Origin {
        private(set) var scheduler: Scheduler
        private let place: Scheduler.OriginIndex
        /// The requests that have slots.
        private(set) var active = [0]
        private(set) var waiting: [Int] = []
        private var number = 0

        init(_ limits: ConnectionLimits, engines: Int = 1) {
            scheduler = Scheduler(limits: limits)
            for _ in 0..<engines { _ = scheduler.addEngine { _ in 0 } }
            place = scheduler.enter(0, origin: "a", mayShare: true).originIndex
            _ = scheduler.probed(0, at: place, isShared: true)
        }

        var connectionCount: Int { scheduler.connectionCount(at: place) }

        mutating func enter(_ count: Int = 1) {
            for _ in 0..<count {
                number += 1
                let entry = scheduler.enter(number, origin: "a", mayShare: true)
                if entry.isAdmitted { active.append(number) } else { waiting.append(number) }
                // Without another request, the connections may be gone.
                if entry.isProbing { grant(scheduler.probed(number, at: place, isShared: true)) }
            }
        }

        mutating func release(_ count: Int = 1) {
            for _ in 0..<count where !active.isEmpty {
                grant(scheduler.release(active.removeFirst(), at: place, isShared: true))
            }
        }

        mutating func allow(_ streams: Int) { grant(scheduler.allowed(streams, to: "a")) }

        private mutating func grant(_ grants: [Scheduler.Grant]) {
            #expect(grants.map(\.id) == Array(waiting.prefix(grants.count)))
            waiting.removeFirst(grants.count)
            active += grants.map(\.id)
        }
    }

    @Test(arguments: [1, 2])
    func requestsBeyondTheStreamsOfAllConnectionsWait(_ engines: Int) {
        var origin = Origin(ConnectionLimits(sharedPerOrigin: 2), engines: engines)
        origin.allow(10)
        origin.enter(24)
        #expect(origin.active.count == 20 && origin.waiting.count == 5 && origin.connectionCount == 2)
        origin.release(3)
        #expect(origin.active.count == 20 && origin.waiting.count == 2)
        origin.release(20)
        #expect(origin.active.count == 2 && origin.waiting.isEmpty && origin.connectionCount == 1)
    }

    /// Before the server's settings are known, a connection counts for a hundred streams.
    @Test(arguments: [1, 2])
    func requestsThatAreThereStayWhenTheServerAllowsFewer(_ engines: Int) {
        var origin = Origin(ConnectionLimits(total: 10), engines: engines)
        origin.enter(99)
        #expect(origin.connectionCount == 1)
        origin.allow(5)
        #expect(origin.active.count == 100 && origin.connectionCount == 4 && origin.scheduler.inUse == 4)
        origin.enter()
        origin.release(80)
        #expect(origin.active.count == 20 && origin.waiting.count == 1)
        origin.release()
        #expect(origin.active.count == 20 && origin.waiting.isEmpty)
    }

    @Test func requestsGoOnAtOnceWhenTheServerAllowsMore() {
        var origin = Origin(ConnectionLimits(sharedPerOrigin: 1))
        // Not even one: the engine waits for the server.
        origin.allow(0)
        origin.enter(30)
        #expect(origin.active.count == 1)
        origin.allow(20)
        #expect(origin.active.count == 20 && origin.waiting.count == 11)
        origin.allow(50)
        #expect(origin.active.count == 31 && origin.waiting.isEmpty && origin.connectionCount == 1)
    }

    @Test func theLimitOnSharedConnectionsIsAtMostTheLimitOnAll() {
        let limits = [(0, 64), (9, 3), (4, 64)].map { ConnectionLimits(perOrigin: $1, sharedPerOrigin: $0).usable }
        #expect(limits.map(\.sharedPerOrigin) == [1, 3, 4])
    }

    @Test(arguments: 0..<UInt64(Scale.count(20, all: 200)))
    func nobodyWaitsWithoutNeed(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let limits = ConnectionLimits(
            total: Int.random(in: 1...6, using: &random), sharedPerOrigin: Int.random(in: 1...6, using: &random))
        var origin = Origin(limits, engines: Int.random(in: 1...2, using: &random))
        var streams = 100
        for _ in 0..<500 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<10: origin.enter(Int.random(in: 1...8, using: &random))
            case 10..<19: origin.release(Int.random(in: 1...8, using: &random))
            default:
                streams = Int.random(in: 1...30, using: &random)
                let before = origin.active.count
                origin.allow(streams)
                #expect(origin.active.count >= before)
            }
            let room = streams * min(limits.total, limits.usable.sharedPerOrigin)
            #expect(origin.waiting.isEmpty || origin.active.count >= room)
            #expect(origin.connectionCount <= min(limits.total, limits.usable.sharedPerOrigin))
            #expect(origin.scheduler.inUse == origin.connectionCount)
            #expect(origin.scheduler.waitingCount == origin.waiting.count)
        }
    }

    /// Requests end in any order, so that those left may be spread over more connections than they need.
    @Test(arguments: [1, 2])
    func connectionsInUseCountAsTheEngineTellsThem(_ engines: Int) {
        var scheduler = Scheduler(limits: ConnectionLimits(total: 2))
        for _ in 0..<engines { _ = scheduler.addEngine { _ in 0 } }
        let place = scheduler.enter(0, origin: "a", mayShare: true).originIndex
        _ = scheduler.probed(0, at: place, isShared: true)
        _ = scheduler.allowed(2, to: "a")
        for id in 1...3 { _ = scheduler.enter(id, origin: "a", mayShare: true) }
        _ = scheduler.setShared(2, to: "a", on: 0)
        for id in 0...1 { _ = scheduler.release(id, at: place, isShared: true) }
        #expect(scheduler.activeCount(at: place) == 2)
        #expect(scheduler.connectionCount(at: place) == 2 && scheduler.inUse == 2)
        // Streams are free on both.
        let further = scheduler.enter(4, origin: "a", mayShare: true)
        #expect(further.isAdmitted && scheduler.inUse == 2)
        _ = scheduler.release(4, at: place, isShared: true)
        let other = scheduler.enter(5, origin: "b")
        #expect(!other.isAdmitted)
        let granted = scheduler.setShared(0, to: "a", on: 0)
        #expect(granted.map(\.id) == [5])
        #expect(scheduler.connectionCount(at: place) == 1 && scheduler.inUse == 2)
    }

    /// Their connections may end after their requests, and before or after the session has got another engine.
    @Test(arguments: [1, 2, 3])
    func originsWithoutSharedConnectionsAreForgotten(_ engines: Int) {
        var scheduler = Scheduler(limits: ConnectionLimits(total: 3000))
        for _ in 0..<min(engines, 2) { _ = scheduler.addEngine { _ in 0 } }
        let origins = (0..<1000).map(String.init)
        for (id, origin) in origins.enumerated() {
            let place = scheduler.enter(id, origin: origin, mayShare: true).originIndex
            _ = scheduler.probed(id, at: place, isShared: true)
            _ = scheduler.setShared(2, to: origin, on: 0)
            _ = scheduler.release(id, at: place, isShared: true)
        }
        #expect(scheduler.indices.count == 1000)
        if engines == 3 { _ = scheduler.addEngine { _ in 0 } }
        for origin in origins { _ = scheduler.setShared(0, to: origin, on: 0) }
        scheduler.closedAllIdle(on: 0)
        #expect(scheduler.indices.count < 300)
    }

    /// The server allows fewer streams than before, so that the requests that have slots need more connections.
    @Test(arguments: [1, 2])
    func anEngineUsesNoMoreConnectionsThanTheLimitsLeave(_ engines: Int) {
        var scheduler = Scheduler(limits: ConnectionLimits(total: 3, sharedPerOrigin: 2))
        for _ in 0..<engines { _ = scheduler.addEngine { _ in 0 } }
        let place = scheduler.enter(0, origin: "a", mayShare: true).originIndex
        _ = scheduler.probed(0, at: place, isShared: true)
        for id in 1...9 { _ = scheduler.enter(id, origin: "a", mayShare: true) }
        let others = (10...11).map { scheduler.enter($0, origin: "b") }
        #expect(others.allSatisfy { $0.isAdmitted })
        _ = scheduler.allowed(1, to: "a")
        let mayUseTwo = scheduler.mayUse(2, to: "a", on: 0)
        #expect(!mayUseTwo)
        _ = scheduler.release(10, at: others[0].originIndex, isShared: false)
        let mayUse = (2...3).map { scheduler.mayUse($0, to: "a", on: 0) }
        #expect(mayUse == [true, false])
        let waiting = scheduler.enter(12, origin: "b")
        #expect(scheduler.inUse == 3 && !waiting.isAdmitted)
        // An origin of which nothing is known.
        let isFree = scheduler.mayUse(2, to: "c", on: 0)
        #expect(isFree)
    }

    @Test func aChangeOfTheServersLimitIsCheap() {
        let count = 2_000
        var scheduler = Scheduler(limits: ConnectionLimits(total: count, sharedPerOrigin: 1))
        for origin in 0..<count {
            let place = scheduler.enter(origin, origin: "\(origin)", mayShare: true).originIndex
            _ = scheduler.probed(origin, at: place, isShared: true)
            _ = scheduler.allowed(1, to: "\(origin)")
            _ = scheduler.enter(count + origin, origin: "\(origin)", mayShare: true)
        }
        var most = 0
        for origin in 0..<count {
            let before = scheduler.comparisons
            #expect(scheduler.allowed(2, to: "\(origin)").map(\.id) == [count + origin])
            most = max(most, scheduler.comparisons - before)
        }
        // Three paths through a heap of that many, with two comparisons at each step.
        #expect(most <= 66)
    }
}

extension ConnectionLimits {
    fileprivate init(total: Int = 256, perOrigin: Int = 64, sharedPerOrigin: Int) {
        self.init(total: total, perOrigin: perOrigin)
        self.sharedPerOrigin = sharedPerOrigin
    }
}
