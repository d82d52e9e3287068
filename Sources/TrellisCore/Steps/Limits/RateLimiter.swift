import CurlEngine

/// A limiter that delays requests until their host may get another one: enforces a ``RateLimit``, with a queue for each host.
///
/// ```swift
/// configuration.steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))
/// ```
///
/// The rate belongs to the limiter: sessions and requests with the same limiter share its rate.
///
/// ```swift
/// let searches = RateLimiter(RateLimit(requestsPerSecond: 1))
/// let request = Request(url).withSteps { $0.rateLimiters.append(searches) }
/// ```
///
/// A request waits as long as its deadline allows: a request whose turn would be too late fails at once. The wait counts in
/// ``Metrics/queued``, and ``RequestEvent/Kind/rateLimited(host:wait:)`` reports the wait. Requests of a higher ``Request/priority``
/// go first. A request that ends before it was sent, for example while it waits for a connection, returns its turn, and the
/// next request may be sent.
public final class RateLimiter: Sendable {
    /// The number of requests that each host may get, and the size of a burst.
    public let limit: RateLimit
    private let queues: LimitQueues<TokenBucket>

    /// Creates a limiter with full buckets.
    public init(_ limit: RateLimit) {
        self.limit = limit
        queues = LimitQueues { TokenBucket(limit) }
    }

    /// Returns the number of waiters for a host.
    func waitingCount(host: String) -> Int { queues.reading(host) { $0.waitingCount } }

    /// Returns whether a task waits for the next turn at a host.
    func hasPump(host: String) -> Bool { queues.hasPump(host: host) }

    /// Waits until the host may get another request: not at all, or until the turn of the request.
    ///
    /// - Returns: The token for ``giveBack(_:host:_:)`` if the request is never sent.
    /// - Throws: `CancellationError` in a cancelled task; ``TrellisError`` of kind ``TrellisError/Kind/rateLimited`` if the
    ///   wait would be too long, or of kind ``TrellisError/Kind/cancelled`` when the session is shut down.
    @inline(never)
    @discardableResult
    func enter(host: String, _ context: CallContext, _ priority: RequestPriority = .normal) async throws -> Int {
        try await queues.enter(host: host, of: self, context, priority)
    }

    /// Returns the token of a request that was not sent: another request may be sent in its place.
    func giveBack(_ token: Int, host: String, _ context: CallContext) {
        queues.change(host, at: context.now) { $0.giveBack(token) }
    }
}

extension RateLimiter: WaitingLimit {
    func waitEvent(at host: String, for wait: Duration) -> RequestEvent.Kind { .rateLimited(host: host, wait: wait) }

    @inline(never)
    func refusal(of host: String, _ wait: Duration, _ context: CallContext) -> TrellisError {
        if let maximumWait = limit.maximumWait, wait > maximumWait {
            return TrellisError(.limited(.rate(host: host, wait: wait, maximumWait: maximumWait)))
        }
        var error = TrellisError(
            .limited(.rate(host: host, wait: wait, maximumWait: context.remainingTime ?? .zero)))
        error.detail = "its deadline comes first"
        return error
    }

    func reasonForWaiting(_ ticket: UInt64, host: String) -> String {
        let count = queues.reading(host) { $0.countAhead(of: ticket) }
        return "the rate limit of \(host) has \(count) other request\(count == 1 ? "" : "s") ahead of it"
    }

    func isTurnTimed(at host: String) -> Bool { true }
}
