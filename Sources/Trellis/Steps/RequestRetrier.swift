/// Decides what happens after an attempt has failed.
///
/// The session's retriers are asked first, then the request's, once each for a failed attempt; the first answer that is not
/// ``RetryResult/doNotRetry`` wins. They run on the pool, may take as long as the call's deadline lets them, and are cancelled
/// with their call.
public protocol RequestRetrier: Sendable {
    /// Whether the request is sent again.
    ///
    /// However they decide, a request whose body cannot be made again is not
    /// (``TrellisError/Kind/bodyNotReplayable``), and none is that could not begin before the call's deadline.
    func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult
}

/// What a retrier wants.
public enum RetryResult: Sendable {
    /// Another attempt, at once.
    case retry
    /// Another attempt after a while.
    case retryAfter(Duration)
    /// Nothing: the next retrier is asked, and behind the last one the caller gets the answer or the error as it is.
    case doNotRetry
    /// The caller gets this error.
    case doNotRetryWithError(any Error)
}

/// A retrier of a closure.
public struct Retrier: RequestInterceptor {
    private let decide: @Sendable (FailedAttempt, CallContext) async -> RetryResult

    /// A retrier of a closure.
    public init(_ decide: @escaping @Sendable (FailedAttempt, CallContext) async -> RetryResult) {
        self.decide = decide
    }

    /// What the closure says.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        await decide(attempt, context)
    }
}

extension Retrier: OneSidedInterceptor {}
