import CurlEngine

/// The events that one observer has not handled yet. The observer's task takes them one after the other.
///
/// An event resumes the task if it waits. When the task of a monitor has handled all events, it rests for ten milliseconds before it waits
/// for the next one, so that a busy session resumes it with many events and not with each.
///
/// A full queue drops its oldest event. The task is told of the number of dropped events before it gets the next one.
final class EventQueue: Sendable {
    private struct State {
        /// The events as a ring, the oldest of them at `first`.
        var ring: [RequestEvent?] = []
        var first = 0
        var count = 0
        /// The number of events that were dropped, and those of them that the task was not told of.
        var (dropped, untold) = (0, 0)
        /// The tasks that wait for an event or rest; mostly one at most.
        var waiters: [Reply<Void>] = []
        var isResting = false
        /// Indicates whether the task has taken an event since its last rest.
        var hasTaken = false
        /// The number of rests that have begun.
        var rests = 0
        var isFinished = false

        /// Adds an event to a ring that has room, or may grow up to its capacity.
        mutating func append(_ event: RequestEvent, _ capacity: Int) {
            if count == ring.count {
                let events = (0..<count).map { ring[(first + $0) % ring.count] }
                ring = events + [RequestEvent?](repeating: nil, count: min(max(count, 16), capacity - count))
                first = 0
            }
            let place = first + count
            ring[place < ring.count ? place : place - ring.count] = event
            count += 1
        }

        mutating func removeFirst() -> RequestEvent? {
            guard count > 0 else { return nil }
            let event = ring[first].take()
            first = first + 1 == ring.count ? 0 : first + 1
            count -= 1
            return event
        }

        mutating func drop() {
            _ = removeFirst()
            dropped += 1
            untold += 1
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

    private static let restLength = Duration.milliseconds(10)

    private let capacity: Int
    /// Indicates whether the task rests between events.
    private let isForMonitor: Bool
    /// The call of all events; `nil` if they are those of several calls.
    private let subject: EventSubject?
    private let state = Locked(State())

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - capacity: The number of events that are kept; at least 1.
    ///   - isForMonitor: Indicates whether the task rests between events, as that of a monitor.
    ///   - subject: The call of all events; `nil` if they are those of several calls.
    init(capacity: Int, isForMonitor: Bool = true, of subject: EventSubject? = nil) {
        self.capacity = max(capacity, 1)
        self.isForMonitor = isForMonitor
        self.subject = subject
    }

    /// The number of events that were dropped.
    var droppedCount: Int { state.withLock { $0.dropped } }

    /// Adds an event. Returns whether the oldest event was dropped because the queue was full.
    func add(_ event: RequestEvent) -> Bool {
        let (isDropped, waiters) = state.withLock { state -> (Bool, [Reply<Void>]) in
            guard !state.isFinished else { return (false, []) }
            let isDropped = state.count == capacity
            if isDropped { state.drop() }
            state.append(event, capacity)
            guard !state.isResting || state.count > capacity / 2 else { return (isDropped, []) }
            return (isDropped, state.takeWaiters())
        }
        for waiter in waiters { waiter.resume(with: .success(())) }
        return isDropped
    }

    /// Ends the queue. The events that it has are still taken.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(with: .success(())) }
    }

    /// Returns the next event, or the event of those that were dropped before it; `nil` if there is none.
    func next() -> RequestEvent? {
        let (event, untold) = state.withLock { state -> (RequestEvent?, Int) in
            guard state.untold == 0 else { return (nil, state.takeUntold()) }
            guard let event = state.removeFirst() else { return (nil, 0) }
            state.hasTaken = true
            return (event, 0)
        }
        return untold > 0 ? RequestEvent(dropped: untold, of: subject) : event
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
