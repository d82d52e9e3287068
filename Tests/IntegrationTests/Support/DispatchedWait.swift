import Dispatch

/// A wait that blocks its thread until another thread ends it.
final class DispatchedWait: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Blocks the calling thread.
    func wait() { semaphore.wait() }

    /// Ends the wait.
    func end() { semaphore.signal() }
}
