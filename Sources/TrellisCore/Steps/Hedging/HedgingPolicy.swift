/// A policy that sends a request again while its first attempt is slow: the first response wins, and the other attempt is cancelled.
///
/// ```swift
/// configuration.steps.hedging = HedgingPolicy(after: .milliseconds(200))
/// ```
///
/// Hedging cuts off the slowest responses, at the price of more requests: choose a ``delay`` that most responses beat. An attempt has a
/// response when its head has arrived; a response that is collected needs its body too. A failure, or a status of 408, 429, 500, 502, 503
/// or 504, does not win while another attempt runs. An attempt that fails before its delay is left to the retriers.
///
/// Only requests that may be sent twice are hedged: idempotent methods (RFC 9110, section 9.2.2) or an `Idempotency-Key`, and a body that
/// can be made again. An attempt that waits for a limit or a connection gets another delay first.
///
/// Each attempt goes through adapters, redirects and limits, with its own number in events, errors and ``Metrics/attemptCount``.
public struct HedgingPolicy: Sendable {
    /// The time without a response after which another attempt begins, and each further one. There is no default: it follows from the
    /// usual time of the server's responses.
    public var delay: Duration
    /// The number of further attempts of a call, not counting its retries. The default is 1.
    public var maximumExtraAttempts: Int
    /// The limit on the number of further requests to each host; `nil` if there is no limit. The default is a budget of the policy's own.
    public var budget: RetryBudget?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - delay: The time without a response after which another attempt begins.
    ///   - maximumExtraAttempts: The number of further attempts of a call; 1 unless given.
    ///   - budget: The limit on the number of further requests to each host; a budget of the policy's own, shared with its
    ///     copies, unless given. Pass the budget of the ``RetryPolicy`` to keep both within one.
    public init(after delay: Duration, maximumExtraAttempts: Int = 1, budget: RetryBudget? = RetryBudget()) {
        self.delay = delay
        self.maximumExtraAttempts = maximumExtraAttempts
        self.budget = budget
    }
}

extension HedgingPolicy {
    /// Returns whether sending a request twice has the same effect as sending it once.
    ///
    /// - Parameter sent: The request as it was sent last: adapters may have changed its method and its body, or given it a key. A request
    ///   after a redirect may have another method than the one before, which would be repeated too.
    func mayHedge(_ request: Request, sent: Request?) -> Bool {
        let sent = sent ?? request
        guard request.hasReplayableBody, sent.hasReplayableBody, sent.mayBeRepeated else { return false }
        return request.mayBeRepeated || sent.method == request.method
    }

    /// Returns whether a result waits for a better one, as long as one may arrive: a failure, or a response with a transient
    /// status.
    static func isWeak(_ result: Result<StepResponse, any Error>) -> Bool {
        guard case .success(let answer) = result else { return true }
        return answer.response.status.isTransient
    }

    /// Returns the better one of two weak results: a response before a failure, and then the earlier one.
    static func better(_ first: AttemptEnd?, _ second: AttemptEnd) -> AttemptEnd {
        guard let first else { return second }
        if case .failure = first.result, case .success = second.result { return second }
        return first
    }
}
