import CurlEngine

/// A limit on the requests that a host has at a time, which follows what the host can answer.
///
/// ```swift
/// configuration.steps.adaptiveConcurrency = AdaptiveConcurrency()
/// ```
///
/// The limit of a host begins with ``initial``. It grows while requests near it are answered, up to ``maximum``. The statuses 429, 503
/// and 504, and timeouts before the response's head, reduce it, down to ``minimum``; with ``Algorithm/gradient(tolerance:)``, latencies
/// that grow reduce it too. A `Retry-After` with 429 or 503 pauses the host, for at most ``maximumPause``.
///
/// Requests over the limit wait, by ``Request/priority`` and then in the order of arrival, as long as their deadlines allow. A request
/// counts until its response is complete; a stream until it has been read or dropped. One request may always be sent while all others
/// have their response's head. Each retry, hedge and redirect counts.
///
/// Sessions share it. ``hosts`` has the present limits, and <doc:Overload> the rules and the events.
public final class AdaptiveConcurrency: Sendable {
    /// The way in which a limit follows its host.
    public enum Algorithm: Sendable, Hashable {
        /// Additive increase, multiplicative decrease: one more request after a round of answered ones, a fifth less after an overload. The
        /// limit stays near the point at which the host refuses requests.
        case aimd
        /// As `aimd` after an overload, and otherwise by latency: the limit shrinks when responses take longer than `tolerance` times the
        /// latency without load, which is measured from time to time. The limit stays near the point at which requests begin to wait
        /// in the host. 1.25 unless given; below 1 counts as 1.
        ///
        /// The latency is the time from the connection being ready to the head of the response.
        case gradient(tolerance: Double = 1.25)
    }

    /// The way in which the limit follows its host. The default is ``Algorithm/aimd``.
    public var algorithm: Algorithm { rules.algorithm }
    /// The least limit of a host, at least 1. The default is 1.
    public var minimum: Int { rules.minimum }
    /// The largest limit of a host, at least the minimum. The default is 200.
    public var maximum: Int { rules.maximum }
    /// The limit of a host before anything is known about it, between the other two. The default is 20.
    public var initial: Int { rules.initial }
    /// The longest pause that a server's `Retry-After` causes. The default is 60 seconds; zero for no pauses.
    public var maximumPause: Duration { rules.maximumPause }

    private let rules: ConcurrencyRules
    private let queues: LimitQueues<ConcurrencyLimit>

    /// Creates a limit that knows no host.
    ///
    /// - Parameters:
    ///   - algorithm: The way in which the limit follows its host; ``Algorithm/aimd`` unless given.
    ///   - minimum: The least limit of a host; 1 unless given.
    ///   - maximum: The largest limit of a host; 200 unless given.
    ///   - initial: The limit of a host before anything is known about it; 20 unless given.
    ///   - maximumPause: The longest pause that a server's `Retry-After` causes; 60 s unless given.
    public convenience init(
        _ algorithm: Algorithm = .aimd, minimum: Int = 1, maximum: Int = 200, initial: Int = 20,
        maximumPause: Duration = .seconds(60)
    ) {
        self.init(
            ConcurrencyRules(
                algorithm: algorithm, minimum: minimum, maximum: maximum, initial: initial, maximumPause: maximumPause))
    }

    init(_ rules: ConcurrencyRules) {
        let rules = rules.bounded
        self.rules = rules
        queues = LimitQueues { ConcurrencyLimit(rules) }
    }

    /// The hosts that the limit knows, in the order of their names.
    public var hosts: [HostConcurrency] {
        queues.readingAll { HostConcurrency($0, $1.limit, waiting: $1.waitingCount) }.sorted { $0.host < $1.host }
    }

    /// Returns the number of waiters for a host.
    func waitingCount(host: String) -> Int { queues.reading(host) { $0.waitingCount } }

    /// Waits until the host may get another request.
    ///
    /// - Returns: The slot of the request.
    /// - Throws: `CancellationError` in a cancelled task; ``TrellisError`` of kind ``TrellisError/Kind/rateLimited`` if the host is paused
    ///   beyond the deadline, or of kind ``TrellisError/Kind/cancelled`` when the session is shut down.
    @inline(never)
    func enter(
        host: String, _ context: CallContext, _ priority: RequestPriority = .normal
    ) async throws -> ConcurrencySlot {
        _ = try await queues.enter(host: host, of: self, context, priority)
        return ConcurrencySlot(self, host: host, clock: context.call.clock)
    }

    /// Changes the limit of a host, and lets the requests go that may be sent then.
    func change<Result>(_ host: String, at now: EngineInstant, _ body: (inout ConcurrencyLimit) -> Result) -> Result {
        queues.change(host, at: now, body)
    }
}

extension AdaptiveConcurrency: WaitingLimit {
    func waitEvent(at host: String, for wait: Duration) -> RequestEvent.Kind {
        .concurrencyLimited(host: host, limit: queues.reading(host) { $0.limit.limit })
    }

    @inline(never)
    func refusal(of host: String, _ wait: Duration, _ context: CallContext) -> TrellisError {
        TrellisError(.limited(.paused(host: host, wait: wait, remaining: context.remainingTime ?? .zero)))
    }

    func reasonForWaiting(_ ticket: UInt64, host: String) -> String {
        let (limit, count) = queues.reading(host) { ($0.limit.limit, $0.countAhead(of: ticket)) }
        let others = "\(count) other request\(count == 1 ? "" : "s") ahead of it"
        return isTurnTimed(at: host)
            ? "\(host) has asked for a pause, and there are \(others)"
            : "the concurrency limit of \(host), which is \(limit), has \(others)"
    }

    func isTurnTimed(at host: String) -> Bool { queues.reading(host) { $0.nextTurn != nil } }
}

/// The concurrency of one host, as ``AdaptiveConcurrency`` knows it.
public struct HostConcurrency: Sendable, Hashable {
    /// The host in lower case, and its port unless that is the default of the scheme.
    public let host: String
    /// The number of requests that the host may have at a time. Less for a moment while the latency without load is measured.
    public let limit: Int
    /// The number of requests that were admitted and have not ended.
    public let inFlight: Int
    /// The number of requests that wait.
    public let waiting: Int
    /// The latency without load by which ``AdaptiveConcurrency/Algorithm/gradient(tolerance:)`` judges; `nil` if it is not known.
    public let baseLatency: Duration?

    init(_ host: String, _ limit: ConcurrencyLimit, waiting: Int) {
        self.host = host
        self.limit = limit.limit
        inFlight = limit.inFlightCount
        self.waiting = waiting
        baseLatency = limit.baseLatency.map { .nanoseconds(Int64($0)) }
    }
}
