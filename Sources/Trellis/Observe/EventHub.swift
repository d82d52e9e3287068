import CurlEngine
import Synchronization

/// Hands the events of a session to those who want them. Costs a session without any a look at a flag.
final class EventHub: Sendable {
    private struct State {
        var observers: [Int: AsyncStream<RequestEvent>.Continuation] = [:]
        var next = 0
    }

    private let state = Locked(State())
    private let count = Atomic(0)
    private let dropped = Atomic(0)
    private let bufferSize: Int

    init(monitors: [any EventMonitor], bufferSize: Int) {
        self.bufferSize = max(bufferSize, 1)
        for monitor in monitors {
            let events = events()
            Task.detached { for await event in events { await monitor.handle(event) } }
        }
    }

    deinit { for observer in state.withLock({ Array($0.observers.values) }) { observer.finish() } }

    /// Somebody wants events.
    var isObserved: Bool { count.load(ordering: .relaxed) > 0 }

    /// Events that an observer was too slow for.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// The events from now on, the newest of them if the reader is slow.
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

    func emit(_ event: RequestEvent) {
        for observer in state.withLock({ Array($0.observers.values) }) {
            if case .dropped = observer.yield(event) { dropped.add(1, ordering: .relaxed) }
        }
    }
}
