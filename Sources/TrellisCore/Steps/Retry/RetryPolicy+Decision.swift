import HTTPTypes

extension RetryPolicy {
    /// Returns the time to wait before the next attempt; `nil` if no attempt follows. Ignores the budget and the deadline.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, from 1 on.
    ///   - random: A random number from 0 up to 1.
    func delay(after failed: FailedAttempt, attempt: Int, random: Double, now: HTTPDate) -> Duration? {
        guard attempt <= retryLimit, isTransient(failed), mayRepeat(failed) else { return nil }
        let span = exponentialBackoffScale.backoff(
            by: exponentialBackoffBase, after: attempt, upTo: maximumBackoff)
        let jitter = span * random
        let response = failed.response ?? (failed.error as? TrellisError)?.response
        guard let response, let asked = RetryAfter.delay(in: response.head, now: now) else {
            return jitter
        }
        return asked <= maximumRetryAfter ? asked + jitter : nil
    }

    /// Returns whether a failure is transient.
    func isTransient(_ failed: FailedAttempt) -> Bool {
        // The status counts, regardless of the step that refused the response.
        if let response = failed.response, retryableHTTPStatusCodes.contains(response.status.code) { return true }
        guard let error = failed.error as? TrellisError else { return false }
        switch error.reason {
        case .validationFailed(.status(let code)): return retryableHTTPStatusCodes.contains(code)
        // A retry would fail while the limit still holds, or wait for the limit twice.
        case .limited: return false
        default: return error.isTransient
        }
    }

    /// Returns whether sending the request again has the same effect as sending it once, or the failed attempt sent nothing.
    func mayRepeat(_ failed: FailedAttempt) -> Bool {
        let request = failed.request
        if retryableHTTPMethods.contains(request.method) || request.hasIdempotencyKey { return true }
        return failed.response == nil && (failed.error as? TrellisError).map { !$0.mayHaveSentBytes } ?? false
    }
}
