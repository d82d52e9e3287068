import CurlEngine

/// The events that one observer has not handled yet. The observer's task takes them one after the other.
///
/// An event resumes the task if it waits. When the task of a monitor has handled all events, it rests for ten milliseconds before it waits
/// for the next one, so that a busy session resumes it with many events and not with each.
///
/// A full queue drops its oldest event. The task is told of the number of dropped events before it gets the next one.
final class EventQueue: Sendable {
    /// Some successive events. A task takes a group as it is, so that no event is moved one by one.
    private struct Group {
        var events: [RequestEvent] = []
        /// The number of events at the beginning that were dropped or taken. All of them are released with the group.
        var first = 0

        var isEmpty: Bool { first == events.count }
    }

    /// An event that was removed.
    private struct Removed {
        let event: RequestEvent
        /// The group of the event, if that was the last of it. The group is released without the lock.
        var spent: Group?
    }

    private struct State {
        /// The groups that are full, the oldest first; none is empty.
        var full: [Group] = []
        /// The events after the full groups.
        var newest = Group()
        var count = 0
        /// The number of events that were dropped, and how many of them the task does not know of.
        var (dropped, untold) = (0, 0)
        /// The number of events that the task has taken together with the one that it handles. They count as not handled.
        var ahead = 0
        /// The tasks that wait for an event or rest; mostly one at most.
        var waiters: [Reply<Void>] = []
        var isResting = false
        /// Whether the task has taken an event since its last rest.
        var hasTaken = false
        /// The number of rests that have begun.
        var rests = 0
        var isFinished = false

        /// Adds an event.
        ///
        /// - Parameter groupSize: The number of events of a full group.
        mutating func append(_ event: RequestEvent, _ groupSize: Int) {
            if newest.events.count >= groupSize {
                full.append(newest)
                newest = Group()
            }
            if newest.events.isEmpty { newest.events.reserveCapacity(groupSize) }
            newest.events.append(event)
            count += 1
        }

        /// Removes the oldest group, which is empty only if there are no events.
        mutating func removeGroup() -> Group {
            var group = Group()
            if full.isEmpty { swap(&group, &newest) } else { group = full.removeFirst() }
            count -= group.events.count - group.first
            return group
        }

        /// Removes the oldest event, if any.
        mutating func removeFirst() -> Removed? {
            guard count > 0 else { return nil }
            count -= 1
            if full.isEmpty {
                var removed = Removed(event: newest.events[newest.first])
                newest.first += 1
                if newest.isEmpty {
                    removed.spent = newest
                    newest = Group()
                }
                return removed
            }
            var removed = Removed(event: full[0].events[full[0].first])
            full[0].first += 1
            if full[0].isEmpty { removed.spent = full.removeFirst() }
            return removed
        }

        /// Drops the oldest event. Returns what is released without the lock.
        mutating func drop() -> Group? {
            dropped += 1
            untold += 1
            return removeFirst()?.spent
        }

        mutating func takeUntold() -> Int {
            defer { untold = 0 }
            return untold
        }

        mutating func takeWaiters() -> [Reply<Void>] {
            isResting = false
            defer { waiters = [] }
            return waiters
        }
    }

    /// The next step of a task that has taken all events.
    private enum Next {
        case go
        case rest(Int)
        case wait
        case end
    }

    /// The consequences of an event that was added.
    private struct Addition {
        var isDropping = false
        /// Whether the task is resumed.
        var mustResume = false
        /// A group whose events were dropped, released without the lock: the errors in events may be the user's.
        var spent: Group?
    }

    private static let restLength = Duration.milliseconds(10)

    private let capacity: Int
    /// The number of events that a task takes at once: at most a 64th of the capacity, and 60. An array of 60 events is just small enough
    /// for glibc's cache of freed memory; any larger one takes several times as long to allocate.
    private let groupSize: Int
    /// Whether the task rests between events.
    private let isForMonitor: Bool
    /// The call of all events; `nil` for several calls.
    private let subject: EventSubject?
    private let state = Locked(State())

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - capacity: The number of events that are kept; at least 1.
    ///   - isForMonitor: Whether the task is a monitor's, which rests between events.
    ///   - subject: The call of all events; `nil` if they belong to several calls.
    init(capacity: Int, isForMonitor: Bool = true, of subject: EventSubject? = nil) {
        self.capacity = max(capacity, 1)
        groupSize = min(max(capacity / 64, 1), 60)
        self.isForMonitor = isForMonitor
        self.subject = subject
    }

    /// The number of events that were dropped.
    var droppedCount: Int { state.withLock { $0.dropped } }

    /// Adds an event. Returns whether the oldest event was dropped because the queue was full.
    func add(_ event: RequestEvent) -> Bool {
        let addition = state.withLock { state -> Addition in
            guard !state.isFinished else { return Addition() }
            var addition = Addition()
            if state.count + state.ahead >= capacity {
                addition.isDropping = true
                addition.spent = state.drop()
            }
            state.append(event, groupSize)
            addition.mustResume = state.isResting ? state.count > capacity / 2 : !state.waiters.isEmpty
            return addition
        }
        if addition.mustResume {
            for waiter in state.withLock({ $0.takeWaiters() }) { waiter.resume(with: .success(())) }
        }
        return addition.isDropping
    }

    /// Ends the queue. The events that it has are still taken.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(with: .success(())) }
    }

    /// Ends the queue together with its events, which no task takes any more. Calls may retain the queue for long.
    func discard() {
        let groups = state.withLock { state in
            state.isFinished = true
            defer { (state.full, state.newest, state.count) = ([], Group(), 0) }
            return (state.full, state.newest)
        }
        // Released without the lock: the errors in events may be the user's.
        withExtendedLifetime(groups) {}
    }

    /// Returns the next event, or the event of those that were dropped before it, if any.
    func next() -> RequestEvent? {
        let (removed, untold) = state.withLock { state -> (Removed?, Int) in
            guard state.untold == 0 else { return (nil, state.takeUntold()) }
            guard let removed = state.removeFirst() else { return (nil, 0) }
            state.hasTaken = true
            return (removed, 0)
        }
        return untold > 0 ? RequestEvent(dropped: untold, of: subject) : removed?.event
    }

    /// Returns the next events, the oldest first, if any. The lock is taken once for all of them.
    ///
    /// In a large queue these are at most a 64th of its capacity, and in a small queue one at a time. Until all of them are handled,
    /// they count as if only the first one had been taken.
    func nextEvents() -> [RequestEvent]? {
        let (group, untold) = state.withLock { state -> (Group, Int) in
            state.ahead = 0
            guard state.untold == 0 else { return (Group(), state.takeUntold()) }
            let group = state.removeGroup()
            guard !group.isEmpty else { return (group, 0) }
            state.hasTaken = true
            state.ahead = group.events.count - group.first - 1
            return (group, 0)
        }
        if untold > 0 { return [RequestEvent(dropped: untold, of: subject)] }
        guard !group.isEmpty else { return nil }
        return group.first == 0 ? group.events : Array(group.events[group.first...])
    }

    /// Waits for the next event. Returns `false` if the queue was ended and is empty.
    func wait() async -> Bool {
        switch step() {
        case .go: return true
        case .end: return false
        case .rest(let number):
            Task(executorPreference: globalConcurrentExecutor) { [self] in
                try? await Task.sleep(for: Self.restLength)
                endRest(number)
            }
        case .wait: break
        }
        await suspend()
        return true
    }

    private func step() -> Next {
        state.withLock { state in
            if state.count > 0 { return .go }
            if state.isFinished { return .end }
            guard isForMonitor, state.hasTaken else { return .wait }
            state.hasTaken = false
            state.isResting = true
            state.rests += 1
            return .rest(state.rests)
        }
    }

    private func suspend() async {
        // The wait never fails.
        try? await withReply { reply in
            let isOver = state.withLock { state in
                if state.isFinished || state.count > 0 && !state.isResting { return true }
                state.waiters.append(reply)
                return false
            }
            if isOver { reply.resume(with: .success(())) }
        }
    }

    /// Ends a rest. A task that has no events then waits on.
    private func endRest(_ number: Int) {
        let waiters = state.withLock { state -> [Reply<Void>] in
            guard state.isResting, state.rests == number else { return [] }
            state.isResting = false
            return state.count > 0 ? state.takeWaiters() : []
        }
        for waiter in waiters { waiter.resume(with: .success(())) }
    }
}
