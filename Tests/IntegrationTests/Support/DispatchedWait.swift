import Dispatch

/// A wait that blocks its thread until another thread ends it.
final class DispatchedWait: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Blocks the calling thread.
    ///
    /// - Parameter seconds: The number of seconds after which the wait ends in a test that has failed; `nil` if it does not end by itself.
    func wait(atMost seconds: Double? = nil) {
        _ = semaphore.wait(timeout: seconds.map { .now() + $0 } ?? .distantFuture)
    }

    /// Ends the wait.
    func end() { semaphore.signal() }
}
