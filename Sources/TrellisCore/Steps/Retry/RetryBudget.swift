package import CurlEngine
import Synchronization

/// A limit on the number of retries to each host, so that the retries of many callers do not multiply an outage.
///
/// A tenth of the requests of the last ``window`` may be retried, and ``minimumRetries`` more for callers that send few. A host that no
/// longer responds gets a tenth more requests than usual, not three times as many. Further retries are not begun, and the caller gets the
/// failure. The numbers count in this process alone.
///
/// A call counts once for its host, and once for each other host that an adapter or a redirect leads to. The ``RetryPolicy`` and the
/// ``HedgingPolicy`` of the ``Steps`` record the requests; a retrier of yours with a budget calls ``recordRequest(_:)``.
///
/// All copies of a ``RetryPolicy``, and so all requests of a session, share its budget. A budget that is made for each request limits
/// nothing.
public final class RetryBudget: Sendable {
    /// The ratio of requests that may be retried. The default is 0.1.
    public let ratio: Double
    /// The number of retries in a ``window`` that are allowed in addition to the ratio. The default is 10.
    public let minimumRetries: Int
    /// The length of time for which requests and retries count. The default is 10 seconds.
    public let window: Duration
    private let clock: any EngineClock
    private let accounts: Locked<HostTable<Account>>

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - ratio: The ratio of requests that may be retried; a tenth unless given.
    ///   - minimumRetries: The number of retries in a window that are allowed in addition; 10 unless given.
    ///   - window: The length of time for which requests and retries count; 10 s unless given.
    public convenience init(ratio: Double = 0.1, minimumRetries: Int = 10, window: Duration = .seconds(10)) {
        self.init(ratio: ratio, minimumRetries: minimumRetries, window: window, clock: MonotonicClock.system)
    }

    /// Creates a budget with the clock that measures its window.
    package init(ratio: Double = 0.1, minimumRetries: Int = 10, window: Duration = .seconds(10), clock: any EngineClock)
    {
        self.ratio = ratio
        self.minimumRetries = minimumRetries
        self.window = window
        self.clock = clock
        accounts = Locked(
            HostTable { Account(ratio: ratio, minimumRetries: minimumRetries, window: window) })
    }

    /// Records a request that is sent for the first time.
    public func recordRequest(_ request: Request) { recordRequest(toHostIn: request.url) }

    private func recordRequest(toHostIn url: String) {
        let now = clock.now()
        accounts.withLock { _ = $0.withState(ofHostIn: url, at: now) { $0.recordRequest(at: now) } }
    }

    private func recordRequest(to host: String) {
        let now = clock.now()
        accounts.withLock { $0.withState(of: host, at: now) { $0.recordRequest(at: now) } }
    }

    /// Returns the last request of a call that the budget has recorded, if any.
    private func lastRequest(of call: Call) -> BudgetRecord? {
        let id = ObjectIdentifier(self)
        if let last = call.record.withLock({ $0.budgetRecords[id] }) { return last }
        guard call.firstBudget.isFirst(id) else { return nil }
        return BudgetRecord(url: call.request.url, host: call.request.limitedHost)
    }

    /// Records the request of a call, unless the last request of the call that was recorded went to the same host: the first
    /// request, and the first request to each host that an adapter or a redirect leads to. Retries are withdrawn from the
    /// budget of that host.
    func recordRequest(_ request: Request, of call: Call) {
        let (id, url, own) = (ObjectIdentifier(self), request.url, call.request.url)
        if url == own, call.firstBudget.claim(id) { return recordRequest(toHostIn: url) }
        let last = lastRequest(of: call)
        guard last?.url != url else { return }
        let host = request.limitedHost
        call.record.withLock { $0.budgetRecords[id] = BudgetRecord(url: url, host: host) }
        if last?.host != host { recordRequest(to: host) }
    }

    /// Takes another sending of a request from the budget: a retry, or a hedge beside the first attempt.
    ///
    /// - Returns: Whether the budget had one left, which is then counted.
    public func withdraw(for request: Request) -> Bool {
        let now = clock.now()
        return accounts.withLock { $0.withState(of: request.limitedHost, at: now) { $0.withdraw(at: now) } }
    }
}

extension RetryBudget {
    /// The budget of one host, as a value.
    struct Account: HostState {
        private let ratio: Double
        private let minimumRetries: Int
        /// The window of the requests; the retries are its marked events.
        private var window: SlidingWindow

        init(ratio: Double, minimumRetries: Int, window: Duration) {
            self.ratio = ratio
            self.minimumRetries = minimumRetries
            self.window = SlidingWindow(length: window)
        }

        mutating func recordRequest(at now: EngineInstant) { window.count(at: now) }

        /// Takes a retry, and returns whether one was left.
        mutating func withdraw(at now: EngineInstant) -> Bool {
            window.advance(to: now)
            guard Double(window.marked + 1) - Double(minimumRetries) <= Double(window.total) * ratio else {
                return false
            }
            window.countMarkedAlone(at: now)
            return true
        }

        mutating func isForgettable(at now: EngineInstant) -> Bool {
            window.advance(to: now)
            return window.total == 0 && window.marked == 0
        }
    }
}

/// An adapter with a budget that counts the requests of calls.
protocol RetryBudgetHolder {
    var budgets: [RetryBudget] { get }
}

extension RetryPolicy: RetryBudgetHolder {
    var budgets: [RetryBudget] { budget.map { [$0] } ?? [] }
}

extension ConnectionLostRetryPolicy: RetryBudgetHolder {
    var budgets: [RetryBudget] { policy.budgets }
}

extension Interceptor: RetryBudgetHolder {
    var budgets: [RetryBudget] { adapters.budgets }
}

extension [any RequestAdapter] {
    /// The budgets of the retry policies among the adapters.
    var budgets: [RetryBudget] { flatMap { ($0 as? any RetryBudgetHolder)?.budgets ?? [] } }
}

extension Steps {
    /// The budgets of the retry policies among the adapters, and of the hedging policy.
    var budgets: [RetryBudget] {
        guard let budget = hedging?.budget else { return adapters.budgets }
        return adapters.budgets + [budget]
    }
}

/// The budget that was the first to record a call's own request. Most calls have one budget and one request, and need no other record.
struct FirstBudget: ~Copyable, Sendable {
    private let budget = Atomic<UInt>(0)

    /// Returns whether a budget is the one that was the first.
    func isFirst(_ id: ObjectIdentifier) -> Bool { budget.load(ordering: .relaxed) == UInt(bitPattern: id) }

    /// Makes a budget the first; returns `false` if there was one.
    func claim(_ id: ObjectIdentifier) -> Bool {
        budget.compareExchange(expected: 0, desired: UInt(bitPattern: id), ordering: .relaxed).exchanged
    }
}
