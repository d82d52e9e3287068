public import HTTPTypes

/// A policy that sends a request again when its failure is transient and sending it twice does no harm.
///
/// A failure is transient if no connection could be made, the connection was lost, the server was silent for too long, or the status is one
/// of ``retryableHTTPStatusCodes``. Sending twice does no harm if the method is one of ``retryableHTTPMethods``, the request has an
/// `Idempotency-Key`, or nothing was sent.
///
/// It waits for a random part (full jitter) of a span that doubles from ``exponentialBackoffScale`` up to ``maximumBackoff``. The wait
/// begins after the time that the response names: in `Retry-After` or `retry-after-ms`, or, if a limit is used up, in `RateLimit`,
/// `RateLimit-Reset` or `X-RateLimit-Reset`.
///
/// It gives up after ``retryLimit`` retries, with a spent ``budget``, if a server asks for more than ``maximumRetryAfter``, or if the
/// call's deadline is earlier. The caller gets the last response or error. <doc:Retries> has the reasons.
public struct RetryPolicy: RequestInterceptor, ImmediateAdapter {
    /// The number of retries of one call, 2 by default. Hedges, and attempts with a credential that an ``AuthenticationInterceptor`` has
    /// renewed, do not count.
    public var retryLimit = 2
    /// The factor by which the span of the waits grows with each retry, 2 by default.
    public var exponentialBackoffBase = 2.0
    /// The span of the first wait, 500 ms by default.
    public var exponentialBackoffScale = Duration.milliseconds(500)
    /// The largest span, 30 s by default.
    public var maximumBackoff = Duration.seconds(30)
    /// The longest `Retry-After`, or time of a rate limit, that is waited for, 60 s by default. A server that asks for more gets no retry:
    /// an earlier retry would not be welcome, and a call that waits longer than that is useless to most callers.
    public var maximumRetryAfter = Duration.seconds(60)
    /// The methods that may be sent twice, by default the idempotent ones (RFC 9110, section 9.2.2).
    public var retryableHTTPMethods = RetryPolicy.defaultRetryableHTTPMethods
    /// The statuses of transient failures: 408, 429, 500, 502, 503 and 504 by default
    /// (RFC 9110, section 15; RFC 6585, section 4).
    public var retryableHTTPStatusCodes = RetryPolicy.defaultRetryableHTTPStatusCodes
    /// Whether requests whose method may not be sent twice get an `Idempotency-Key` of their own, unless they have one:
    /// the same key for all attempts of a call, another key for each call. Only for servers that know the field; other servers
    /// would execute a repeated request twice. `false` by default.
    public var addsIdempotencyKey = false
    /// Whether the attempt of a stream lasts until the first byte of its body, so that a failure before that byte is retried as a
    /// failure before the head is. `false` by default: an attempt ends with the head. The stream is returned that much later.
    ///
    /// For a server that sends its head at once and begins to work after that, such as one of a language model:
    ///
    /// ```swift
    /// var retry = RetryPolicy(retryLimit: 3)
    /// retry.waitsForFirstByte = true
    /// retry.retryableHTTPMethods.insert(.post)  // an answer that has not begun may be asked for again
    /// let answer = try await session.stream(chat.withInterceptor(retry)).validate()
    /// ```
    ///
    /// A failure after the first byte ends the stream: its reader has the beginning of an answer, which another attempt would not continue.
    public var waitsForFirstByte = false
    /// The limit on the number of retries to each host; `nil` if there is no limit.
    public var budget: RetryBudget?

    /// The generator of the `Idempotency-Key` of each call.
    private let keys = IdempotencyKeys()
    /// Returns a random number from 0 up to 1.
    private let random: @Sendable () -> Double

    /// The default of ``retryableHTTPMethods``: `DELETE`, `GET`, `HEAD`, `OPTIONS`, `PUT`, `QUERY` and `TRACE`.
    public static let defaultRetryableHTTPMethods: Set<HTTPRequest.Method> = HTTPRequest.Method.idempotentMethods

    /// The default of ``retryableHTTPStatusCodes``: 408, 429, 500, 502, 503 and 504.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = HTTPResponse.Status.transientCodes

    /// Creates a policy; values that are not given have their defaults.
    ///
    /// - Parameters:
    ///   - retryLimit: The number of retries of one call.
    ///   - exponentialBackoffBase: The factor by which the span of the waits grows with each retry.
    ///   - exponentialBackoffScale: The span of the first wait.
    ///   - maximumBackoff: The largest span.
    ///   - maximumRetryAfter: The longest `Retry-After` that is waited for.
    ///   - retryableHTTPMethods: The methods that may be sent twice.
    ///   - retryableHTTPStatusCodes: The statuses of transient failures.
    ///   - addsIdempotencyKey: Whether requests that may not be sent twice get an `Idempotency-Key`.
    ///   - budget: The limit on the number of retries to each host; a budget of the policy's own, shared with its copies, unless
    ///     given.
    public init(
        retryLimit: Int = 2, exponentialBackoffBase: Double = 2, exponentialBackoffScale: Duration = .milliseconds(500),
        maximumBackoff: Duration = .seconds(30), maximumRetryAfter: Duration = .seconds(60),
        retryableHTTPMethods: Set<HTTPRequest.Method> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        addsIdempotencyKey: Bool = false, budget: RetryBudget? = RetryBudget()
    ) {
        self.init(retryLimit: retryLimit, addsIdempotencyKey: addsIdempotencyKey, budget: budget) {
            .random(in: 0..<1)
        }
        self.exponentialBackoffBase = exponentialBackoffBase
        self.exponentialBackoffScale = exponentialBackoffScale
        self.maximumBackoff = maximumBackoff
        self.maximumRetryAfter = maximumRetryAfter
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
    }

    /// Creates a policy with another source of random numbers from 0 to 1.
    package init(
        retryLimit: Int = 2, addsIdempotencyKey: Bool = false, budget: RetryBudget? = RetryBudget(),
        random: @escaping @Sendable () -> Double
    ) {
        self.retryLimit = retryLimit
        self.addsIdempotencyKey = addsIdempotencyKey
        self.budget = budget
        self.random = random
    }

    /// Returns the request, with an `Idempotency-Key` if ``addsIdempotencyKey`` asks for one.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        adaptAtOnce(request, context: context)
    }

    func adaptAtOnce(_ request: Request, context: CallContext) -> Request {
        if context.attempt == 1 { budget?.recordRequest(request, of: context.call) }
        guard addsIdempotencyKey, !retryableHTTPMethods.contains(request.method), !request.hasIdempotencyKey else {
            return request
        }
        return request.withHeader(.idempotencyKey, keys.key(ofCall: context.callID))
    }

    /// Returns ``RetryResult/retryWithDelay(_:)`` for a request that is sent again, and ``RetryResult/doNotRetry`` otherwise.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        // Hedges and attempts with a renewed credential are not retries.
        let number = context.attempt - context.hedges - context.call.renewalCount
        let delay = delay(after: attempt, attempt: number, random: random(), now: .now)
        guard let delay else { return .doNotRetry }
        // Checked before the budget, so that a retry that never begins is not counted.
        if let remaining = context.remainingTime, delay >= remaining { return .doNotRetry }
        // A body that cannot be sent again ends the call with an error, and takes nothing from the budget.
        guard attempt.hasReplayableBody else { return .retryWithDelay(delay) }
        if let budget, !budget.withdraw(for: attempt.request) { return .doNotRetry }
        return .retryWithDelay(delay)
    }
}

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
