import HTTPTypes

extension RetryPolicy {
    /// How long to wait before the next attempt; `nil` if there is to be none. Knows nothing of budget and deadline.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, from 1 on.
    ///   - random: From 0 up to 1.
    func delay(after failed: FailedAttempt, attempt: Int, random: Double, now: HTTPDate) -> Duration? {
        guard attempt <= retryLimit, isTransient(failed), mayRepeat(failed) else { return nil }
        let jitter = span(attempt: attempt) * random
        let response = failed.response ?? (failed.error as? TrellisError)?.response
        guard let response, let asked = RetryAfter.delay(in: response.headerFields, now: now) else {
            return jitter
        }
        return asked <= maximumRetryAfter ? asked + jitter : nil
    }

    /// The failure is one of the moment.
    func isTransient(_ failed: FailedAttempt) -> Bool {
        // Whatever refuses an answer with such a status.
        if let response = failed.response, retryableHTTPStatusCodes.contains(response.status.code) { return true }
        guard let error = failed.error as? TrellisError else { return false }
        switch error.reason {
        case .validationFailed(.status(let code)): return retryableHTTPStatusCodes.contains(code)
        // It would be over before the limit is, or wait for it twice.
        case .limited: return false
        default: return error.isTransient
        }
    }

    /// Sending it twice does what sending it once does.
    func mayRepeat(_ failed: FailedAttempt) -> Bool {
        let request = failed.request
        if retryableHTTPMethods.contains(request.method) || request.hasIdempotencyKey { return true }
        return failed.response == nil && (failed.error as? TrellisError).map { !$0.maySentBytes } ?? false
    }

    /// What the wait behind an attempt is a part of.
    private func span(attempt: Int) -> Duration {
        var span = min(max(exponentialBackoffScale, .zero), maximumBackoff)
        let factor = exponentialBackoffBase.isFinite ? max(exponentialBackoffBase, 1) : 1
        for _ in 1..<max(attempt, 1) where span < maximumBackoff {
            // Not more than the cap can hold, or the product could be more than a `Duration` can.
            span = span * min(factor, 1e6) < maximumBackoff ? span * min(factor, 1e6) : maximumBackoff
        }
        return max(span, .zero)
    }
}
