import Synchronization

/// A semaphore for tasks: `wait()` takes a permit, or waits in a queue for one.
final class TaskSemaphore: Sendable {
    /// The permits of the clients that run to their end, in all tests together.
    static let clients = TaskSemaphore(permits: 4)
    /// The permits of the scripts in Python that run to their end. Some have a dozen programs of their own.
    static let scripts = TaskSemaphore(permits: 4)
    /// The permits of the servers that start.
    static let servers = TaskSemaphore(permits: 2)

    private let state: Mutex<(permits: Int, waiters: [CheckedContinuation<Void, Never>])>

    init(permits: Int) { state = Mutex((permits, [])) }

    /// A permit that is given back by a call, or at the end of its object.
    final class Permit: Sendable {
        private let semaphore: TaskSemaphore
        private let isTaken = Atomic(true)

        fileprivate init(of semaphore: TaskSemaphore) { self.semaphore = semaphore }

        deinit { giveBack() }

        /// Gives the permit back, unless that has been done.
        func giveBack() {
            if isTaken.exchange(false, ordering: .acquiringAndReleasing) { semaphore.signal() }
        }
    }

    /// Takes a permit for something that outlives the caller.
    func permit() async -> Permit {
        await wait()
        return Permit(of: self)
    }

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
