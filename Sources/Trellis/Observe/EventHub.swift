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

    init(monitors: [any EventMonitor], bufferSize: Int) {
        self.bufferSize = max(bufferSize, 1)
        for monitor in monitors {
            let events = events()
            Task.detached { for await event in events { await monitor.handle(event) } }
        }
    }

    deinit { for observer in state.withLock({ Array($0.observers.values) }) { observer.finish() } }

    /// Indicates whether there are observers.
    var isObserved: Bool { count.load(ordering: .relaxed) > 0 }

    /// The number of events that were dropped because an observer was too slow.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Returns a stream of the events from now on. If the reader is slow, the newest events are kept.
    func events() -> AsyncStream<RequestEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RequestEvent.self, bufferingPolicy: .bufferingNewest(bufferSize))
        let id = state.withLock { state in
            state.next += 1
            state.observers[state.next] = continuation
            return state.next
        }
        count.add(1, ordering: .relaxed)
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        return stream
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
