#if Observability
import CurlEngine
import Synchronization

/// The observation of one connection, from the end of its making to its end.
final class ObservedConnection: ConnectionObservation {
    /// The states of a connection, as numbers.
    private enum State {
        static let active = 0
        static let idle = 1
        static let ended = 2
    }

    private let instrumentation: ConnectionInstrumentation
    /// The place of the server in the numbers of the instrumentation.
    private let index: Int
    private let start = MonotonicClock.now()
    private let state = Atomic(State.active)

    init(_ instrumentation: ConnectionInstrumentation, _ index: Int) {
        (self.instrumentation, self.index) = (instrumentation, index)
    }

    // An engine that ends with its process has released the connection.
    deinit { end() }

    func change(isIdle: Bool) {
        let new = isIdle ? State.idle : State.active
        let old = state.exchange(new, ordering: .relaxed)
        guard old != new else { return }
        instrumentation.change(index) { counts in
            counts.active += isIdle ? -1 : 1
            counts.idle += isIdle ? 1 : -1
        }
    }

    func end() {
        let old = state.exchange(State.ended, ordering: .relaxed)
        guard old != State.ended else { return }
        let duration = MonotonicClock.now().nanoseconds(since: start)
        instrumentation.change(index, duration: duration) { counts in
            if old == State.idle { counts.idle -= 1 } else { counts.active -= 1 }
        }
    }
}
#endif
