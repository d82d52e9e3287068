package import Dispatch

extension DispatchSemaphore {
    /// Blocks the calling thread until the test signals the semaphore.
    ///
    /// The wait ends without a signal shortly before the time limit of the test's suite: a test that fails ends too.
    package func waitForTest() { _ = wait(timeout: .now() + 50) }
}
