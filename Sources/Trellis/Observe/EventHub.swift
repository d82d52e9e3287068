import CurlEngine
import Synchronization

/// The distribution of a session's events to its observers. A session without observers only checks a flag for each call.
final class EventHub: Sendable {
    private struct State {
        /// The observers in the order of their arrival.
        var observers: [Observer] = []
        /// The number of the newest observer.
        var next = 0
    }

    /// An observer with its number.
    private final class Observer: Sendable {
        /// The receiver of the events: a monitor's queue, or a sequence.
        enum Receiver: Sendable {
            case monitor(EventQueue)
            case sequence(AsyncStream<RequestEvent>.Continuation)
        }

        let id: Int
        private let receiver: Receiver

        init(_ receiver: Receiver, id: Int) {
            self.id = id
            self.receiver = receiver
        }

        func finish() {
            switch receiver {
            case .monitor(let queue): queue.finish()
            case .sequence(let continuation): continuation.finish()
            }
        }

        /// Passes an event on. Returns whether an event was dropped because the observer is too slow.
        func receive(_ event: RequestEvent) -> Bool {
            switch receiver {
            case .monitor(let queue): return queue.add(event)
            case .sequence(let continuation):
                if case .dropped = continuation.yield(event) { return true }
                return false
            }
        }
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
            let queue = EventQueue(capacity: self.bufferSize)
            let id = add(.monitor(queue))
            let task = Task.detached {
                repeat {
                    while let event = queue.next() { await monitor.handle(event) }
                } while await queue.wait()
            }
            monitoring.withLock { $0[id] = task }
        }
    }

    deinit { for observer in state.withLock({ $0.observers }) { observer.finish() } }

    /// Indicates whether there are observers.
    var isObserved: Bool { count.load(ordering: .relaxed) > 0 }

    /// The number of events that were dropped because an observer was too slow.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Returns a stream of the events from now on. If the reader is slow, the newest events are kept.
    func events() -> AsyncStream<RequestEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RequestEvent.self, bufferingPolicy: .bufferingNewest(bufferSize))
        let id = add(.sequence(continuation))
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        return stream
    }

    /// Adds an observer, and returns its number.
    private func add(_ receiver: Observer.Receiver) -> Int {
        defer { count.add(1, ordering: .relaxed) }
        return state.withLock { state in
            state.next += 1
            state.observers.append(Observer(receiver, id: state.next))
            return state.next
        }
    }

    /// Ends the monitors, and waits until they have handled their events, at most for `limit`.
    func finishMonitors(within limit: Duration) async {
        let tasks = monitoring.withLock { tasks in
            defer { tasks = [:] }
            return tasks
        }
        guard !tasks.isEmpty else { return }
        for observer in state.withLock({ $0.observers }) where tasks[observer.id] != nil {
            observer.finish()
            remove(observer.id)
        }
        await withContinuation { continuation in
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
        let isRemoved = state.withLock { state in
            let index = state.observers.firstIndex { $0.id == id }
            if let index { state.observers.remove(at: index) }
            return index != nil
        }
        if isRemoved { count.subtract(1, ordering: .relaxed) }
    }

    /// Sends an event to all observers.
    func emit(_ event: RequestEvent) {
        for observer in state.withLock({ $0.observers }) where observer.receive(event) {
            dropped.add(1, ordering: .relaxed)
        }
    }
}
