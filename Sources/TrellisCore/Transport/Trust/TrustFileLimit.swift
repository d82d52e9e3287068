/// The limit on the time for which a request waits until files of certificates and keys have been read for the first time.
struct TrustFileLimit: Sendable {
    /// Returns when the time is over, on the session's clock.
    ///
    /// - Throws: `CancellationError` in a cancelled task; ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` after the session's
    ///   shutdown.
    let wait: @Sendable () async throws -> Void
    /// Returns the time since the request began.
    let elapsed: @Sendable () -> Duration
    /// Whether the limit is zero, which no read of a file can meet: the file is not the cause of the error.
    var isZero = false

    /// Returns the error of a request that has waited too long for a file.
    func failure(_ path: String) -> TrellisError {
        var error = TrellisError(.timedOut(.connect), phase: .connecting)
        error.metrics.total = elapsed()
        if !isZero { error.detail = "the file \(path) has not been read" }
        error.isTrustTimeout = true
        return error
    }
}
