import CurlEngine

/// Whose turn it is at one host, as a value: a token bucket, and who waits for its tokens in the order of their coming.
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
    /// Who waits. Those that left are still here until their turn comes.
    private var queue: [ID] = []
    private var first = 0
    private var waiting: Set<ID> = []

    init(_ limit: RateLimit) {
        interval = limit.interval
        let (product, overflow) = limit.interval.multipliedReportingOverflow(by: UInt64(max(limit.burst, 1) - 1))
        tolerance = overflow ? .max : product
        maximumWait = limit.maximumWait?.clampedNanoseconds
    }

    var waitingCount: Int { waiting.count }

    /// When the first in the queue gets its token; `nil` where nobody waits. May be past.
    var nextTurn: EngineInstant? { waiting.isEmpty ? nil : turn(behind: 0) }

    /// Asks for a token. An ID enters once at a time.
    mutating func enter(_ id: ID, at now: EngineInstant) -> Entry {
        if enterAtOnce(at: now) { return .admitted }
        let wait = turn(behind: waiting.count).nanoseconds(since: now)
        if let maximumWait, UInt64(wait) > maximumWait { return .refused(.nanoseconds(wait)) }
        queue.append(id)
        waiting.insert(id)
        return .waiting(.nanoseconds(wait))
    }

    /// Takes a token, if there is one that nobody waits for.
    mutating func enterAtOnce(at now: EngineInstant) -> Bool {
        guard waiting.isEmpty, turn(behind: 0) <= now else { return false }
        take(at: now)
        return true
    }

    /// Gives up waiting. Those behind move up.
    mutating func leave(_ id: ID) {
        guard waiting.remove(id) != nil else { return }
        if waiting.isEmpty { forgetQueue() }
    }

    /// Takes those out whose turn has come, in order.
    mutating func admit(at now: EngineInstant) -> [ID] {
        var admitted: [ID] = []
        while let turn = nextTurn, turn <= now {
            let id = queue[first]
            first += 1
            guard waiting.remove(id) != nil else { continue }
            // At its own instant: a timer that is late does not slow the rate down.
            take(at: turn)
            admitted.append(id)
        }
        if waiting.isEmpty { forgetQueue() } else { compact() }
        return admitted
    }

    func isForgettable(at now: EngineInstant) -> Bool { waiting.isEmpty && full <= now }

    // MARK: Tokens

    private func turn(behind count: Int) -> EngineInstant {
        let (product, overflow) = interval.multipliedReportingOverflow(by: UInt64(count))
        let end = full.advanced(byNanoseconds: overflow ? .max : product).nanoseconds
        return EngineInstant(nanoseconds: end > tolerance ? end - tolerance : 0)
    }

    private mutating func take(at now: EngineInstant) {
        full = max(full, now).advanced(byNanoseconds: interval)
    }

    // MARK: The queue

    private mutating func forgetQueue() {
        queue = []
        first = 0
    }

    private mutating func compact() {
        guard first > 64, first * 2 > queue.count else { return }
        queue.removeFirst(first)
        first = 0
    }
}
