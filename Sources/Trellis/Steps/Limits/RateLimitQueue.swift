import CurlEngine

/// Whose turn it is at one host, as a value: a token bucket, and who waits for its tokens: by priority, and then in
/// the order of their coming.
struct RateLimitQueue<ID: Hashable & Sendable>: HostState {
    /// What entering came to.
    enum Entry: Hashable {
        /// A token was there.
        case admitted
        /// So long, unless somebody before gives up.
        case waiting(Duration)
        /// It would be longer than the limit allows.
        case refused(Duration)
    }

    private let interval: UInt64
    private let tolerance: UInt64
    private let maximumWait: UInt64?
    /// When the bucket will be full again (the theoretical arrival time of the generic cell rate algorithm).
    private var full = EngineInstant(nanoseconds: 0)
    private var line = WaitingLine<ID>()
    /// The number of the token that was taken last; those taken together follow each other.
    private(set) var lastToken = 0
    private var lastTaken = EngineInstant(nanoseconds: 0)

    init(_ limit: RateLimit) {
        interval = limit.interval
        let (product, overflow) = limit.interval.multipliedReportingOverflow(by: UInt64(max(limit.burst, 1) - 1))
        tolerance = overflow ? .max : product
        maximumWait = limit.maximumWait?.clampedNanoseconds
    }

    var waitingCount: Int { line.count }

    /// The one that gets the next token; `nil` where nobody waits.
    var next: ID? { line.first }

    /// When the next in the queue gets its token; `nil` where nobody waits. May be past.
    var nextTurn: EngineInstant? { line.isEmpty ? nil : turn(behind: 0) }

    /// Asks for a token. An ID enters once at a time.
    ///
    /// - Parameter longest: Nanoseconds that are too long to wait, whatever the limit says.
    mutating func enter(
        _ id: ID, _ priority: RequestPriority = .normal, at now: EngineInstant, longest: UInt64? = nil
    ) -> Entry {
        if enterAtOnce(at: now) { return .admitted }
        let entry = outlook(priority, at: now, longest: longest)
        if case .waiting = entry { line.enter(id, priority) }
        return entry
    }

    /// What entering would come to where there is no token.
    func outlook(_ priority: RequestPriority = .normal, at now: EngineInstant, longest: UInt64? = nil) -> Entry {
        let wait = turn(behind: line.countAhead(of: priority)).nanoseconds(since: now)
        let isTooLong = UInt64(wait) > maximumWait ?? .max || UInt64(wait) >= longest ?? .max
        return isTooLong ? .refused(.nanoseconds(wait)) : .waiting(.nanoseconds(wait))
    }

    /// Takes a token, if there is one that nobody waits for.
    mutating func enterAtOnce(at now: EngineInstant) -> Bool {
        guard line.isEmpty, turn(behind: 0) <= now else { return false }
        take(at: now)
        return true
    }

    /// Gives up waiting. Those behind move up.
    mutating func leave(_ id: ID) { line.leave(id) }

    /// How many go before somebody who waits.
    func countAhead(of id: ID) -> Int { line.countAhead(of: id) ?? 0 }

    /// Takes those out whose turn has come, in order.
    mutating func admit(at now: EngineInstant) -> [ID] {
        var admitted: [ID] = []
        while let turn = nextTurn, turn <= now, let id = line.next() {
            // At its own instant: a timer that is late does not slow the rate down.
            take(at: turn)
            admitted.append(id)
        }
        return admitted
    }

    /// Gives a token back that was of no use, as if it had never been taken.
    ///
    /// What was taken behind it counts as if all of it had been taken when the last of it was: so nobody ever gets more than
    /// the rate, and the token may be lost where it has been of use to others.
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
