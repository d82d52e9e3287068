import CurlEngine
import Synchronization

/// The distribution of a session's events to its observers. A session without observers only checks a flag for each call.
final class EventHub: Sendable {
    private struct State {
        /// The continuation of each observer, by its number.
        var observers: [Int: AsyncStream<RequestEvent>.Continuation] = [:]
        /// The number of the newest observer.
        var next = 0
    }

    private let state = Locked(State())
    /// The number of observers, readable without the lock.
    private let count = Atomic(0)
    private let dropped = Atomic(0)
    /// The number of events that are kept for each observer; at least 1.
    private let bufferSize: Int
    /// The tasks of the monitors, by the number of their observer.
    private let monitoring = Locked<[Int: Task<Void, Never>]>([:])

    init(monitors: [any EventMonitor], bufferSize: Int) {
        self.bufferSize = max(bufferSize, 1)
        for monitor in monitors {
            let (events, id) = observe()
            let task = Task.detached { for await event in events { await monitor.handle(event) } }
            monitoring.withLock { $0[id] = task }
        }
    }

    deinit { for observer in state.withLock({ Array($0.observers.values) }) { observer.finish() } }

    /// Indicates whether there are observers.
    var isObserved: Bool { count.load(ordering: .relaxed) > 0 }

    /// The number of events that were dropped because an observer was too slow.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Returns a stream of the events from now on. If the reader is slow, the newest events are kept.
    func events() -> AsyncStream<RequestEvent> { observe().events }

    private func observe() -> (events: AsyncStream<RequestEvent>, id: Int) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RequestEvent.self, bufferingPolicy: .bufferingNewest(bufferSize))
        let id = state.withLock { state in
            state.next += 1
            state.observers[state.next] = continuation
            return state.next
        }
        count.add(1, ordering: .relaxed)
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        return (stream, id)
    }

    /// Ends the monitors, and waits until they have handled their events, at most for `limit`.
    func finishMonitors(within limit: Duration) async {
        let tasks = monitoring.withLock { tasks in
            defer { tasks = [:] }
            return tasks
        }
        guard !tasks.isEmpty else { return }
        let observers = state.withLock { state in tasks.keys.compactMap { state.observers[$0] } }
        for observer in observers { observer.finish() }
        await withCheckedContinuation { continuation in
            let waiter = Locked<CheckedContinuation<Void, Never>?>(continuation)
            let resume = { @Sendable in
                waiter.withLock { waiter in
                    defer { waiter = nil }
                    return waiter
                }?.resume()
            }
            let timer = Task {
                try? await Task.sleep(for: limit)
                resume()
            }
            Task {
                for task in tasks.values { await task.value }
                timer.cancel()
                resume()
            }
        }
    }

    private func remove(_ id: Int) {
        guard state.withLock({ $0.observers.removeValue(forKey: id) }) != nil else { return }
        count.subtract(1, ordering: .relaxed)
    }

    /// Sends an event to all observers.
    func emit(_ event: RequestEvent) {
        for observer in state.withLock({ Array($0.observers.values) }) {
            if case .dropped = observer.yield(event) { dropped.add(1, ordering: .relaxed) }
        }
    }
}
