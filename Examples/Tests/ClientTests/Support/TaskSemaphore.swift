import Synchronization

/// A semaphore for tasks: `wait()` takes a permit, or waits in a queue for one.
final class TaskSemaphore: Sendable {
    /// The permits of the clients that run to their end, in all tests together.
    static let clients = TaskSemaphore(permits: 4)

    private let state: Mutex<(permits: Int, waiters: [CheckedContinuation<Void, Never>])>

    init(permits: Int) { state = Mutex((permits, [])) }

    /// Takes a permit.
    func wait() async {
        await withCheckedContinuation { continuation in
            let hasPermit = state.withLock { state in
                guard state.permits > 0 else {
                    state.waiters.append(continuation)
                    return false
                }
                state.permits -= 1
                return true
            }
            if hasPermit { continuation.resume() }
        }
    }

    /// Gives a permit back, to the first waiter if there is one.
    func signal() {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            if !state.waiters.isEmpty { return state.waiters.removeFirst() }
            state.permits += 1
            return nil
        }
        waiter?.resume()
    }
}
