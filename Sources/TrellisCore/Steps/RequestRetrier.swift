/// A step that decides whether the request is sent again after a failed attempt.
///
/// The session's retriers are asked first, then the request's, each once for a failed attempt; the first result other than
/// ``RetryResult/doNotRetry`` decides. Retriers run as a ``RequestAdapter`` does, on the caller's thread or on the pool and
/// never on the session's thread, may take as long as the call's deadline allows, and are cancelled with their call.
public protocol RequestRetrier: Sendable {
    /// Returns the decision on another attempt.
    ///
    /// A request whose body cannot be sent again is not retried in any case (``TrellisError/Kind/bodyNotReplayable``), and no
    /// attempt is made that could not begin before the call's deadline.
    func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult
}

/// The decision of a retrier.
public enum RetryResult: Sendable {
    /// Starts another attempt at once.
    case retry
    /// Starts another attempt after a delay.
    case retryWithDelay(Duration)
    /// Asks the next retrier; after the last one, the caller gets the response or the error unchanged.
    case doNotRetry
    /// Ends the call with this error.
    case doNotRetryWithError(any Error)
}

/// A retrier that calls a closure.
public struct Retrier: RequestInterceptor {
    private let decide: @Sendable (FailedAttempt, CallContext) async -> RetryResult

    /// Creates a retrier that calls a closure.
    public init(_ decide: @escaping @Sendable (FailedAttempt, CallContext) async -> RetryResult) {
        self.decide = decide
    }

    /// Returns the decision of the closure.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        await decide(attempt, context)
    }
}

extension Retrier: PartialInterceptor {}
