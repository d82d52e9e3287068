import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Which request the scheduler refuses when a new one waits.
struct SheddingTests {
    private typealias Scheduler = ConnectionScheduler<Int>

    private static let now = EngineInstant(nanoseconds: 1_000_000_000)

    private static func scheduler(waiting: Int? = nil, isLate: Bool = false) -> Scheduler {
        var limits = ConnectionLimits(total: 8, perOrigin: 1)
        limits.waitingPerOrigin = waiting
        limits.shedsLateRequests = isLate
        return Scheduler(limits: limits)
    }

    /// Enters a request, and returns the one that is refused for it.
    private static func enter(
        _ id: Int, _ priority: RequestPriority = .normal, in scheduler: inout Scheduler, deadline: EngineInstant? = nil
    ) -> Scheduler.Shed? {
        let entry = scheduler.enter(id, origin: "a", priority: priority)
        if entry.isAdmitted { return nil }
        return scheduler.shed(for: id, at: entry.originIndex, priority, deadline: deadline, now: now)
    }

    @Test func theNewOneIsRefusedUnlessOneOfALowerPriorityWaits() {
        var scheduler = Self.scheduler(waiting: 2)
        #expect(Self.enter(0, in: &scheduler) == nil)
        #expect(Self.enter(1, .low, in: &scheduler) == nil)
        #expect(Self.enter(2, .low, in: &scheduler) == nil)
        #expect(Self.enter(3, .low, in: &scheduler) == .init(id: 3, ahead: 2, wait: nil))
        #expect(Self.enter(4, .high, in: &scheduler) == .init(id: 2, ahead: 2, wait: nil))
        #expect(Self.enter(5, in: &scheduler) == .init(id: 1, ahead: 2, wait: nil))
        #expect(Self.enter(6, in: &scheduler) == .init(id: 6, ahead: 2, wait: nil))
        #expect(Self.enter(7, .high, in: &scheduler) == .init(id: 5, ahead: 2, wait: nil))
        #expect(scheduler.waitingCount == 2)
    }

    @Test func withoutRoomForWaitersNobodyWaits() {
        var scheduler = Self.scheduler(waiting: -1)
        #expect(Self.enter(0, in: &scheduler) == nil)
        #expect(Self.enter(1, .high, in: &scheduler) == .init(id: 1, ahead: 0, wait: nil))
        #expect(scheduler.waitingCount == 0)
    }

    @Test func aRequestWhoseTurnIsTooLateIsRefused() throws {
        var scheduler = Self.scheduler(isLate: true)
        let first = scheduler.enter(0, origin: "a")
        for _ in 0..<16 { scheduler.measureEnd(at: first.originIndex, after: 1_000_000_000, now: Self.now) }
        scheduler.measureBegin(at: first.originIndex, now: Self.now)
        let deadline = { Self.now.advanced(by: .milliseconds($0)) }
        #expect(Self.enter(1, in: &scheduler, deadline: deadline(1001)) == nil)
        #expect(Self.enter(2, in: &scheduler, deadline: deadline(2000)) == .init(id: 2, ahead: 1, wait: 2_000_000_000))
        #expect(Self.enter(3, .high, in: &scheduler, deadline: deadline(1001)) == nil)
        #expect(Self.enter(4, in: &scheduler) == nil)
        #expect(scheduler.waitingCount == 3)
    }

    @Test func whoWaitsForOtherOriginsIsNotJudged() {
        var limits = ConnectionLimits(total: 2, perOrigin: 2)
        limits.shedsLateRequests = true
        var scheduler = Scheduler(limits: limits)
        let first = scheduler.enter(0, origin: "a")
        for _ in 0..<16 { scheduler.measureEnd(at: first.originIndex, after: 1_000_000_000, now: Self.now) }
        _ = scheduler.enter(9, origin: "b")
        #expect(Self.enter(1, in: &scheduler, deadline: Self.now) == nil)
        #expect(scheduler.waitingCount == 1)
    }

    /// The queue agrees with a list of waiters in which the last of the lowest priority gives way.
    @Test(arguments: 0..<UInt64(40))
    func nobodyIsLostAndTheRightOneGivesWay(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let most = Int.random(in: 0...40, using: &random)
        var scheduler = Self.scheduler(waiting: most)
        var waiting: [(id: Int, priority: RequestPriority)] = []
        var active: Int?
        let place = scheduler.enter(0, origin: "a").originIndex
        active = 0
        for id in 1...600 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1, 2:
                let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
                waiting.append((id, priority))
                let shed = Self.enter(id, priority, in: &scheduler)
                if active == nil { active = waiting.removeLast().id }
                let lowest = waiting.map(\.priority).min()
                let expected = waiting.count > most ? waiting.lastIndex { $0.priority == lowest } : nil
                #expect(shed?.id == expected.map { waiting[$0].id })
                if let expected { waiting.remove(at: expected) }
            case 3:
                guard let gone = active else { break }
                let next = scheduler.release(gone, at: place, isShared: false).map(\.id)
                active = next.first
                #expect(next.count == min(waiting.count, 1))
                #expect(next.allSatisfy { next in waiting.contains { $0.id == next } })
                waiting.removeAll { $0.id == active }
            default:
                guard let gone = waiting.indices.randomElement(using: &random) else { break }
                scheduler.leave(waiting.remove(at: gone).id, at: place)
            }
            #expect(scheduler.waitingCount == waiting.count)
        }
    }

    /// A queue from whose end thousands leave has no vacated spots there.
    @Test func theEndOfALineIsFoundWithoutASearch() {
        var queue = AgingQueue<Int>()
        for id in 0..<2000 { queue.enter(id, rank: 1) }
        for id in stride(from: 1, to: 1999, by: 2) { queue.leave(id) }
        for expected in (0..<2000).reversed() where expected.isMultiple(of: 2) || expected == 1999 {
            #expect(queue.last(ofRank: 1) == expected)
            #expect(queue.lanes[1].spots.last?.id == expected)
            queue.leave(expected)
        }
        #expect(queue.isEmpty && queue.lastRank == nil)
    }
}
