public import HTTPTypes

/// Sends a request again when its failure is one of the moment and sending it twice does no harm.
///
/// A failure is one of the moment if no connection came about, the connection was lost, the server was silent for too long, or
/// its status is one of ``retryableHTTPStatusCodes``. Twice does no harm if the method is one of ``retryableHTTPMethods``, if
/// the request has an `Idempotency-Key`, or if it is certain that nothing was sent.
///
/// Before each retry it waits: a random part (full jitter) of a span that doubles from ``exponentialBackoffScale`` up to
/// ``maximumBackoff``, so that the clients of a server that has failed do not all come back at once. Where the response has a
/// `Retry-After`, the wait begins behind that.
///
/// It gives up after ``retryLimit`` retries, where the ``budget`` is spent, where a server asks for more than
/// ``maximumRetryAfter``, and where the call's deadline comes first. The caller then gets the last answer or error.
public struct RetryPolicy: RequestInterceptor {
    /// Retries of one call, 2 unless set.
    public var retryLimit = 2
    /// What the span of the waits is multiplied with for each retry, 2 unless set.
    public var exponentialBackoffBase = 2.0
    /// The span of the first wait, 500 ms unless set.
    public var exponentialBackoffScale = Duration.milliseconds(500)
    /// What the span grows to at most, 30 s unless set.
    public var maximumBackoff = Duration.seconds(30)
    /// The longest `Retry-After` that is waited for, 60 s unless set. A server that asks for more gets no retry: before that it
    /// would not be welcome, and a call that waits longer than that is of no use to most callers.
    public var maximumRetryAfter = Duration.seconds(60)
    /// The methods that may be sent twice: those that are idempotent (RFC 9110, section 9.2.2) unless set.
    public var retryableHTTPMethods = RetryPolicy.defaultRetryableHTTPMethods
    /// The statuses that speak of the moment: 408, 429, 500, 502, 503 and 504 unless set (RFC 9110, section 15; RFC 6585,
    /// section 4).
    public var retryableHTTPStatusCodes = RetryPolicy.defaultRetryableHTTPStatusCodes
    /// Whether requests whose method may not be sent twice get an `Idempotency-Key` of their own, unless they have one: the same
    /// for all attempts of a call, another one for each call. For servers that know the field; others would do twice what they
    /// are asked twice. Off unless set.
    public var addsIdempotencyKey = false
    /// How many retries each host may get; `nil` for as many as there are reasons for.
    public var budget: RetryBudget?

    private let keys = IdempotencyKeys()
    /// From 0 up to 1.
    private let random: @Sendable () -> Double

    /// `DELETE`, `GET`, `HEAD`, `OPTIONS`, `PUT`, `QUERY` and `TRACE`.
    public static let defaultRetryableHTTPMethods: Set<HTTPRequest.Method> = HTTPRequest.Method.idempotentMethods

    /// 408, 429, 500, 502, 503 and 504.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = HTTPResponse.Status.transientCodes

    /// A policy with a limit of its own, and otherwise with the defaults.
    ///
    /// - Parameters:
    ///   - retryLimit: retries of one call.
    ///   - addsIdempotencyKey: whether requests that may not be sent twice get an `Idempotency-Key`.
    ///   - budget: how many retries each host may get; a budget of the policy's own, shared with its copies, unless given.
    public init(retryLimit: Int = 2, addsIdempotencyKey: Bool = false, budget: RetryBudget? = RetryBudget()) {
        self.init(retryLimit: retryLimit, addsIdempotencyKey: addsIdempotencyKey, budget: budget) {
            .random(in: 0..<1)
        }
    }

    package init(
        retryLimit: Int = 2, addsIdempotencyKey: Bool = false, budget: RetryBudget? = RetryBudget(),
        random: @escaping @Sendable () -> Double
    ) {
        self.retryLimit = retryLimit
        self.addsIdempotencyKey = addsIdempotencyKey
        self.budget = budget
        self.random = random
    }

    /// The request, with an `Idempotency-Key` where ``addsIdempotencyKey`` asks for one.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        if context.attempt == 1 { budget?.recordRequest(request) }
        guard addsIdempotencyKey, !retryableHTTPMethods.contains(request.method), !request.hasIdempotencyKey else {
            return request
        }
        return request.withHeader(.idempotencyKey, keys.key(ofCall: context.id))
    }

    /// ``RetryResult/retryAfter(_:)``, or no opinion.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        // Hedges are attempts beside its retries.
        let delay = delay(after: attempt, attempt: context.attempt - context.hedges, random: random(), now: .now)
        guard let delay else { return .doNotRetry }
        // Checked before the budget, which is not to pay for a retry that never begins.
        if let remaining = context.remainingTime, delay >= remaining { return .doNotRetry }
        if let budget, !budget.withdraw(for: attempt.request) { return .doNotRetry }
        return .retryAfter(delay)
    }
}
