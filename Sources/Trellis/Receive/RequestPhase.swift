/// The state of a request, as its handle shows it.
public enum RequestPhase: String, Sendable, Hashable, CaseIterable {
    /// Made, not started. Can become anything.
    case initialized
    /// Under way. Can become suspended, cancelled or finished.
    case resumed
    /// Held up by ``DataRequest/suspend()``. Can become resumed, cancelled or finished.
    case suspended
    /// Ended on purpose. Final.
    case cancelled
    /// Ended with an answer or an error. Final.
    case finished
}
