import Testing

@testable import TrellisCore

/// The number of comparisons that the queue makes for one event, for many waiting origins.
struct SchedulerCostTests {
    private static let originCount = 2000
    /// The comparisons of three paths through a heap of that many, with two comparisons at each step.
    private static let fewComparisons = 66

    private static func queue(total: Int, perOrigin: Int) -> ConnectionScheduler<Int> {
        var limits = ConnectionLimits()
        limits.total = total
        limits.perOrigin = perOrigin
        return ConnectionScheduler(limits: limits)
    }

    @Test func aReleaseIsCheapWhereAllOriginsWaitForConnectionsOfTheirOwn() {
        var queue = Self.queue(total: Self.originCount * 2, perOrigin: 1)
        var places: [ConnectionScheduler<Int>.OriginIndex] = []
        for origin in 0..<Self.originCount {
            places.append(queue.enter(origin, origin: "\(origin)").originIndex)
            _ = queue.enter(Self.originCount + origin, origin: "\(origin)")
        }
        #expect(queue.waitingCount == Self.originCount)
        var most = 0
        for origin in 0..<Self.originCount {
            let before = queue.comparisons
            #expect(queue.release(origin, at: places[origin], isShared: false).map(\.id) == [Self.originCount + origin])
            most = max(most, queue.comparisons - before)
        }
        #expect(most <= Self.fewComparisons)
        #expect(queue.waitingCount == 0)
    }

    @Test func aReleaseIsCheapWhereAllOriginsWaitForTheConnectionsOfTheSession() {
        var queue = Self.queue(total: 1, perOrigin: 1)
        var places = [queue.enter(-1, origin: "first").originIndex]
        for origin in 0..<Self.originCount { places.append(queue.enter(origin, origin: "\(origin)").originIndex) }
        var most = 0
        for origin in 0..<Self.originCount {
            let before = queue.comparisons
            #expect(queue.release(origin - 1, at: places[origin], isShared: false).map(\.id) == [origin])
            most = max(most, queue.comparisons - before)
        }
        #expect(most <= Self.fewComparisons)
    }

    @Test func learningThatAnOriginSharesConnectionsIsCheap() {
        var queue = Self.queue(total: Self.originCount * 200, perOrigin: 2)
        var places: [ConnectionScheduler<Int>.OriginIndex] = []
        for origin in 0..<Self.originCount {
            places.append(queue.enter(origin, origin: "\(origin)", mayShare: true).originIndex)
            _ = queue.enter(Self.originCount + origin, origin: "\(origin)", mayShare: true)
        }
        var most = 0
        for origin in 0..<Self.originCount {
            let before = queue.comparisons
            #expect(queue.probed(origin, at: places[origin], isShared: true).map(\.id) == [Self.originCount + origin])
            most = max(most, queue.comparisons - before)
        }
        #expect(most <= Self.fewComparisons)
    }

    @Test func leavingIsCheap() {
        var queue = Self.queue(total: 1, perOrigin: 1)
        _ = queue.enter(-1, origin: "first")
        let places = (0..<Self.originCount).map { queue.enter($0, origin: "\($0)").originIndex }
        var most = 0
        for origin in 0..<Self.originCount {
            let before = queue.comparisons
            queue.leave(origin, at: places[origin])
            most = max(most, queue.comparisons - before)
        }
        #expect(most <= Self.fewComparisons)
        #expect(queue.waitingCount == 0)
    }
}
