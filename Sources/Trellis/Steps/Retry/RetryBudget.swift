package import CurlEngine

/// How many retries a host may get, so that an outage is not multiplied by everybody who tries again.
///
/// Of the requests of the last ``window``, a tenth may be retried, and ``minimumRetries`` beside that, for those who send few:
/// a host that answers nothing any more gets a tenth more requests than usual, not three times as many. Retries beyond that
/// are not begun, and the caller gets the failure. The numbers are of one process.
///
/// A budget is shared by whoever holds it: by the copies of a ``RetryPolicy``, and so by the requests of a session. One that is
/// made for each request keeps nothing in check.
public final class RetryBudget: Sendable {
    /// Which part of the requests may be retried.
    public let ratio: Double
    /// How many retries there may be in a ``window`` beside that.
    public let minimumRetries: Int
    /// How long requests and retries count.
    public let window: Duration
    private let clock: any EngineClock
    private let accounts: Locked<HostTable<Account>>

    /// A budget.
    ///
    /// - Parameters:
    ///   - ratio: which part of the requests may be retried; a tenth unless given.
    ///   - minimumRetries: how many retries there may be in a window beside that; 10 unless given.
    ///   - window: how long requests and retries count; 10 s unless given.
    public convenience init(ratio: Double = 0.1, minimumRetries: Int = 10, window: Duration = .seconds(10)) {
        self.init(ratio: ratio, minimumRetries: minimumRetries, window: window, clock: MonotonicClock.system)
    }

    package init(ratio: Double = 0.1, minimumRetries: Int = 10, window: Duration = .seconds(10), clock: any EngineClock)
    {
        self.ratio = ratio
        self.minimumRetries = minimumRetries
        self.window = window
        self.clock = clock
        accounts = Locked(
            HostTable { Account(ratio: ratio, minimumRetries: minimumRetries, window: window) })
    }

    /// A request is sent for the first time.
    public func recordRequest(_ request: Request) {
        let now = clock.now()
        accounts.withLock { $0.withState(of: request.limitedHost, at: now) { $0.recordRequest(at: now) } }
    }

    /// Asks for another sending of a request, of whatever sort: a retry, or a hedge beside the first one.
    ///
    /// - Returns: Whether there is one left, which is counted then.
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
        /// Requests, and beside them the retries.
        private var window: SlidingWindow

        init(ratio: Double, minimumRetries: Int, window: Duration) {
            self.ratio = ratio
            self.minimumRetries = minimumRetries
            self.window = SlidingWindow(length: window)
        }

        mutating func recordRequest(at now: EngineInstant) { window.count(at: now) }

        /// Takes a retry, if there is one left.
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
