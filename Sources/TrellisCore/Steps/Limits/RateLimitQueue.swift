import CurlEngine

/// The queue of one host, as a value: a token bucket and the waiters for its tokens, by priority, and then in the order of their
/// arrival.
struct RateLimitQueue<ID: Hashable & Sendable>: HostState {
    /// The result of entering the queue.
    enum Entry: Hashable {
        /// A token was available.
        case admitted
        /// The request waits for this time, unless an earlier waiter gives up.
        case waiting(Duration)
        /// The request would wait for this time, which is longer than the limit allows.
        case refused(Duration)
    }

    private let interval: UInt64
    /// The time in nanoseconds by which a burst may be ahead of the rate.
    private let tolerance: UInt64
    private let maximumWait: UInt64?
    /// The time at which the bucket will be full again (the theoretical arrival time of the generic cell rate algorithm).
    private var full = EngineInstant(nanoseconds: 0)
    private var line = AgingQueue<ID>()
    /// The number of the token that was taken last; tokens that are taken together have consecutive numbers.
    private(set) var lastToken = 0
    private var lastTaken = EngineInstant(nanoseconds: 0)

    init(_ limit: RateLimit) {
        interval = limit.interval
        let (product, overflow) = limit.interval.multipliedReportingOverflow(by: UInt64(max(limit.burst, 1) - 1))
        tolerance = overflow ? .max : product
        maximumWait = limit.maximumWait?.clampedNanoseconds
    }

    var waitingCount: Int { line.count }

    /// The waiter that gets the next token; `nil` if the queue is empty.
    var next: ID? { line.first }

    /// The time at which the next waiter gets its token; `nil` if the queue is empty. May be in the past.
    var nextTurn: EngineInstant? { line.isEmpty ? nil : turn(behind: 0) }

    /// Takes a token, or adds the ID to the waiters. An ID enters once at a time.
    ///
    /// - Parameter longest: The time in nanoseconds that is too long to wait, regardless of the limit.
    mutating func enter(
        _ id: ID, _ priority: RequestPriority = .normal, at now: EngineInstant, longest: UInt64? = nil
    ) -> Entry {
        if enterAtOnce(at: now) { return .admitted }
        let entry = outlook(priority, at: now, longest: longest)
        if case .waiting = entry { line.enter(id, priority) }
        return entry
    }

    /// Returns the result of entering if no token is available.
    func outlook(_ priority: RequestPriority = .normal, at now: EngineInstant, longest: UInt64? = nil) -> Entry {
        let wait = turn(behind: line.countAhead(of: priority)).nanoseconds(since: now)
        let isTooLong = UInt64(wait) > maximumWait ?? .max || UInt64(wait) >= longest ?? .max
        return isTooLong ? .refused(.nanoseconds(wait)) : .waiting(.nanoseconds(wait))
    }

    /// Takes a token, if one is available and there are no waiters.
    mutating func enterAtOnce(at now: EngineInstant) -> Bool {
        guard line.isEmpty, turn(behind: 0) <= now else { return false }
        take(at: now)
        return true
    }

    /// Removes a waiter. The waiters after it move up.
    mutating func leave(_ id: ID) { line.leave(id) }

    /// Returns the number of waiters before a waiter.
    func countAhead(of id: ID) -> Int { line.countAhead(of: id) ?? 0 }

    /// Removes the waiters whose turn has arrived, and returns them in order.
    mutating func admit(at now: EngineInstant) -> [ID] {
        var admitted: [ID] = []
        while let turn = nextTurn, turn <= now, let id = line.next() {
            // The token is taken at the instant of the turn: a timer that is late does not slow the rate down.
            take(at: turn)
            admitted.append(id)
        }
        return admitted
    }

    /// Returns a token that was not used to the bucket, as if it had never been taken.
    ///
    /// Tokens that were taken after it count as if all of them had been taken when the last of them was: so the rate is never
    /// exceeded, and the token may be lost if other requests have already used it.
    mutating func giveBack(_ token: Int) {
        guard token > 0, token <= lastToken else { return }
        let (later, overflow) = interval.multipliedReportingOverflow(by: UInt64(lastToken - token))
        let least = lastTaken.advanced(byNanoseconds: overflow ? .max : later)
        let without = EngineInstant(nanoseconds: full.nanoseconds > interval ? full.nanoseconds - interval : 0)
        full = min(full, max(without, least))
        if token == lastToken { lastToken -= 1 }
    }

    func isForgettable(at now: EngineInstant) -> Bool { line.isEmpty && full <= now }

    // MARK: Tokens

    private func turn(behind count: Int) -> EngineInstant {
        let (product, overflow) = interval.multipliedReportingOverflow(by: UInt64(count))
        let end = full.advanced(byNanoseconds: overflow ? .max : product).nanoseconds
        return EngineInstant(nanoseconds: end > tolerance ? end - tolerance : 0)
    }

    private mutating func take(at now: EngineInstant) {
        full = max(full, now).advanced(byNanoseconds: interval)
        lastToken += 1
        lastTaken = max(lastTaken, now)
    }
}
