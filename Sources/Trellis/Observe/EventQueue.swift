import CurlEngine

/// The events that one monitor has not handled yet. The monitor's task takes them one after the other.
///
/// An event resumes the task if it waits. When the task has handled all events, it rests for ten milliseconds before it waits for the next
/// one, so that a busy session resumes it with many events and not with each.
final class EventQueue: Sendable {
    private struct State {
        /// The events as a ring, the oldest of them at `first`.
        var ring: [RequestEvent?] = []
        var first = 0
        var count = 0
        /// The task that waits for an event or rests.
        var waiter: Reply<Void>?
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

        mutating func takeWaiter() -> Reply<Void>? {
            isResting = false
            return waiter.take()
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
    private let state = Locked(State())

    /// Creates a queue.
    ///
    /// - Parameter capacity: The number of events that are kept; at least 1.
    init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// Adds an event. Returns whether the oldest event was dropped because the queue was full.
    func add(_ event: RequestEvent) -> Bool {
        let (isDropped, waiter) = state.withLock { state -> (Bool, Reply<Void>?) in
            guard !state.isFinished else { return (false, nil) }
            let isDropped = state.count == capacity
            if isDropped { _ = state.removeFirst() }
            state.append(event, capacity)
            guard !state.isResting || state.count > capacity / 2 else { return (isDropped, nil) }
            return (isDropped, state.takeWaiter())
        }
        waiter?.resume(with: .success(()))
        return isDropped
    }

    /// Ends the queue. The events that it has are still taken.
    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.takeWaiter()
        }
        waiter?.resume(with: .success(()))
    }

    /// Returns the next event; `nil` if there is none.
    func next() -> RequestEvent? {
        state.withLock { state in
            guard let event = state.removeFirst() else { return nil }
            state.hasTaken = true
            return event
        }
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
            guard state.hasTaken else { return .wait }
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
                state.waiter = reply
                return false
            }
            if isOver { reply.resume(with: .success(())) }
        }
    }

    /// Ends a rest. A task that has no events then waits on.
    private func endRest(_ number: Int) {
        let waiter = state.withLock { state -> Reply<Void>? in
            guard state.isResting, state.rests == number else { return nil }
            state.isResting = false
            return state.count > 0 ? state.takeWaiter() : nil
        }
        waiter?.resume(with: .success(()))
    }
}
