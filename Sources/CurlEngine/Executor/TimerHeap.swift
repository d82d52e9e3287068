/// The receiver of a timer's call.
package protocol EngineTimerTarget: AnyObject {
    /// Handles the timer, which has fired and is no longer set.
    func timerIsDue()
}

/// A timer of the engine thread, which makes one call at an instant and can then be set again.
///
/// A timer belongs to the engine thread; create, set and cancel timers there. A timer that is set keeps its target alive.
package final class EngineTimer {
    var target: (any EngineTimerTarget)?
    fileprivate var instant = EngineInstant(nanoseconds: .max)
    /// The position in the heap; -1 if the timer is not set.
    fileprivate var index = -1

    /// Creates a timer that is not set.
    package init(_ target: any EngineTimerTarget) { self.target = target }

    /// Creates a timer that is not set, and makes a call of a closure.
    convenience init(_ action: @escaping () -> Void) { self.init(Action(action)) }

    private final class Action: EngineTimerTarget {
        private let action: () -> Void

        init(_ action: @escaping () -> Void) { self.action = action }

        func timerIsDue() { action() }
    }

    /// The instant at which the timer fires; `nil` if the timer is not set.
    package var deadline: EngineInstant? { index >= 0 ? instant : nil }
}

/// A binary heap of timers, in which each timer knows its position, so that moving and removing cost O(log n).
struct TimerHeap {
    private var timers: [EngineTimer] = []

    /// The instant at which the first timer fires.
    var nextDeadline: EngineInstant? { timers.first?.instant }

    var count: Int { timers.count }

    /// Sets or moves a timer.
    mutating func set(_ timer: EngineTimer, at deadline: EngineInstant) {
        timer.instant = deadline
        if timer.index < 0 {
            timer.index = timers.count
            timers.append(timer)
        }
        siftUp(timer.index)
        siftDown(timer.index)
    }

    /// Removes a timer; does nothing if the timer is not set.
    mutating func remove(_ timer: EngineTimer) {
        let index = timer.index
        guard index >= 0 else { return }
        timer.index = -1
        let last = timers.removeLast()
        guard last !== timer else { return }
        timers[index] = last
        last.index = index
        siftUp(index)
        siftDown(last.index)
    }

    /// Removes and returns the first timer that is due at `now`.
    mutating func popDue(at now: EngineInstant) -> EngineTimer? {
        guard let first = timers.first, first.instant <= now else { return nil }
        remove(first)
        return first
    }

    /// Removes all timers and releases their targets.
    mutating func removeAll() {
        for timer in timers {
            timer.index = -1
            timer.target = nil
        }
        timers = []
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard timers[index].instant < timers[parent].instant else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var smallest = index
            let left = 2 * index + 1
            for child in left..<Swift.min(left + 2, Swift.max(left, timers.count)) {
                if timers[child].instant < timers[smallest].instant { smallest = child }
            }
            guard smallest != index else { return }
            swap(index, smallest)
            index = smallest
        }
    }

    private mutating func swap(_ first: Int, _ second: Int) {
        timers.swapAt(first, second)
        timers[first].index = first
        timers[second].index = second
    }
}
