/// Sends a request once more beside an attempt whose answer is slow to come: the first answer wins, and the other attempt is
/// cancelled.
///
/// ```swift
/// configuration.steps.hedging = HedgingPolicy(after: .milliseconds(200))
/// ```
///
/// It cuts off the slowest answers, at the price of more requests: choose a ``delay`` that most answers beat. An attempt has an
/// answer when its head has come (for what is collected: its body too). One with a status that speaks of the moment (408, 429,
/// 500, 502, 503, 504), and one that fails, does not win as long as another attempt is under way. An attempt that fails before
/// its delay is over is left to the retriers.
///
/// Only requests that may be sent twice are: idempotent methods (RFC 9110, section 9.2.2) and requests with an
/// `Idempotency-Key`, with a body that can be made again. An attempt that still waits for its own turn, for a limit or a
/// connection, is given another delay: a second one would wait behind it.
///
/// Each attempt goes through adapters, redirects and limits for itself, and has a number of its own in events, errors and
/// ``Metrics/attempts``.
public struct HedgingPolicy: Sendable {
    /// How long the answer may take before another attempt begins, and each further one.
    public var delay: Duration
    /// How many attempts a call may get that way, besides its retries.
    public var maximumExtraAttempts: Int
    /// How many more requests each host may get; `nil` for as many as there are reasons for.
    public var budget: RetryBudget?

    /// A policy.
    ///
    /// - Parameters:
    ///   - delay: how long the answer may take before another attempt begins.
    ///   - maximumExtraAttempts: how many attempts a call may get that way; 1 unless given.
    ///   - budget: how many more requests each host may get; a budget of the policy's own, shared with its copies, unless given.
    ///     Give it that of the ``RetryPolicy``, to keep both within one.
    public init(after delay: Duration, maximumExtraAttempts: Int = 1, budget: RetryBudget? = RetryBudget()) {
        self.delay = delay
        self.maximumExtraAttempts = maximumExtraAttempts
        self.budget = budget
    }
}

extension HedgingPolicy {
    /// Sending a request twice does what sending it once does.
    ///
    /// - Parameter sent: The request as it went out last: adapters may have given it a key.
    func mayHedge(_ request: Request, sent: Request?) -> Bool {
        guard request.body?.isReplayable ?? true else { return false }
        if request.mayBeRepeated { return true }
        return sent.map { $0.method == request.method && $0.hasIdempotencyKey } ?? false
    }

    /// An answer or failure that waits for a better one, where that may come.
    static func isWeak(_ result: Result<StepResponse, any Error>) -> Bool {
        guard case .success(let answer) = result else { return true }
        return answer.response.status.isTransient
    }

    /// The better one of two weak results: an answer, and the earlier.
    static func better(_ first: AttemptEnd?, _ second: AttemptEnd) -> AttemptEnd {
        guard let first else { return second }
        if case .failure = first.result, case .success = second.result { return second }
        return first
    }
}
