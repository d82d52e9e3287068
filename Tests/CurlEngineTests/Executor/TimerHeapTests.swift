import Testing
import TrellisTesting

@testable import CurlEngine

/// The heap of timers agrees with a sorted list.
struct TimerHeapTests {
    private final class Target: EngineTimerTarget {
        func timerIsDue() {}
    }

    private static func instant(_ nanoseconds: UInt64) -> EngineInstant { .init(nanoseconds: nanoseconds) }

    @Test func anEmptyHeapHasNothingDue() {
        var heap = TimerHeap()
        #expect(heap.nextDeadline == nil)
        #expect(heap.popDue(at: .init(nanoseconds: .max)) == nil)
    }

    @Test func aTimerIsDueAtItsInstantAndNotBefore() {
        var heap = TimerHeap()
        let timer = EngineTimer(Target())
        heap.set(timer, at: Self.instant(10))
        #expect(heap.popDue(at: Self.instant(9)) == nil)
        #expect(heap.popDue(at: Self.instant(10)) === timer)
        #expect(timer.deadline == nil)
        #expect(heap.popDue(at: Self.instant(10)) == nil)
    }

    @Test func settingAgainMovesTheTimer() {
        var heap = TimerHeap()
        let timer = EngineTimer(Target())
        for deadline: UInt64 in [10, 5, 20] { heap.set(timer, at: Self.instant(deadline)) }
        #expect(heap.count == 1)
        #expect(timer.deadline == Self.instant(20))
        #expect(heap.nextDeadline == Self.instant(20))
    }

    @Test func removingWhatIsNotSetChangesNothing() {
        var heap = TimerHeap()
        let timer = EngineTimer(Target())
        heap.remove(timer)
        heap.set(timer, at: Self.instant(1))
        heap.remove(timer)
        heap.remove(timer)
        #expect(heap.count == 0)
        #expect(timer.deadline == nil)
    }

    @Test(arguments: 0..<50)
    func randomOperationsAgreeWithASortedList(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var heap = TimerHeap()
        let timers = (0..<40).map { _ in EngineTimer(Target()) }
        var model: [Int: UInt64] = [:]
        for _ in 0..<500 {
            let index = Int.random(in: 0..<timers.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let deadline = UInt64.random(in: 0..<60, using: &random)
                heap.set(timers[index], at: Self.instant(deadline))
                model[index] = deadline
            case 2:
                heap.remove(timers[index])
                model[index] = nil
            default:
                let now = UInt64.random(in: 0..<60, using: &random)
                let popped = heap.popDue(at: Self.instant(now))
                guard let first = model.values.min(), first <= now else {
                    #expect(popped == nil)
                    continue
                }
                guard let position = timers.firstIndex(where: { $0 === popped }) else {
                    Issue.record("nothing came out at \(now), though \(first) is due")
                    return
                }
                #expect(model.removeValue(forKey: position) == first)
            }
            #expect(heap.count == model.count)
            #expect(heap.nextDeadline == model.values.min().map(Self.instant))
            #expect(timers[index].deadline == model[index].map(Self.instant))
        }
    }
}
