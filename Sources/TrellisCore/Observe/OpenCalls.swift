import CurlEngine
import Synchronization

/// The number of a session's calls that have observers and have not sent the event of their result. A session that ends waits for them,
/// because the task of a call sends that event, and the observers would miss it.
final class OpenCalls: Sendable {
    private let count = Atomic(0)
    private let wasAwaited = Atomic(false)
    private let waiters = Locked<[Reply<Void>]>([])

    /// Whether there are no such calls.
    var isEmpty: Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

    /// Whether the session has begun to wait for the calls.
    var isAwaited: Bool { wasAwaited.load(ordering: .sequentiallyConsistent) }

    func enter() { count.add(1, ordering: .sequentiallyConsistent) }

    func leave() {
        // Either this finds that the session waits, or the session finds that there are no calls.
        guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0, isAwaited else { return }
        resume()
    }

    private func resume() {
        let waiters = waiters.withLock { waiters in
            defer { waiters = [] }
            return waiters
        }
        for waiter in waiters { waiter.resume(with: .success(())) }
    }

    /// Waits until there are no calls, at most for `limit` on a clock.
    func end(within limit: Duration, on clock: any EngineClock) async {
        guard !isEmpty else { return }
        let task = Task.detached { [self] () -> Void in
            // The wait never fails.
            try? await withReply { reply in
                waiters.withLock { $0.append(reply) }
                wasAwaited.store(true, ordering: .sequentiallyConsistent)
                if isEmpty { resume() }
            }
        }
        await waitForEnd(of: [task], within: limit, on: clock)
        // The task does not outlive the wait.
        resume()
    }
}
