import CurlEngine

/// The time limits of an exchange, with the instants where they begin, as a value: ``next(_:lastMove:lastSend:isHeld:)`` says which limit
/// is reached first. The timer for that limit fires in ``ExchangeActor/timerIsDue()``.
struct Deadlines: Sendable {
    let limits: TimeLimits
    /// When the call was made; ``Timeouts/total`` is measured from here.
    let start: EngineInstant
    /// When the attempt got its slot.
    var attemptStart: EngineInstant { didSet { connectStart = attemptStart } }
    /// When ``Timeouts/connect`` began: with the slot, or at the end of a wait for a stream on another request's connection.
    var connectStart: EngineInstant
    /// When bytes last moved, as far as the exchange has observed, or when the transfer was resumed.
    var lastMove: EngineInstant

    init(limits: TimeLimits, start: EngineInstant) {
        self.limits = limits
        self.start = start
        attemptStart = start
        connectStart = start
        lastMove = start
    }

    /// Whether an attempt has begun, as far as the instants tell.
    var hasAttempt: Bool { attemptStart != start }

    /// Returns whether the limit in total is reached.
    func isTotalOver(at now: EngineInstant) -> Bool {
        guard let total = limits.total else { return false }
        return start.advanced(byNanoseconds: total) <= now
    }

    /// A time limit, and when it is reached.
    struct Expiry: Hashable, Sendable {
        let timeout: TrellisError.Timeout
        let instant: EngineInstant
    }

    /// Returns the limit that is reached first if nothing else happens; `nil` if no limit applies.
    ///
    /// - Parameters:
    ///   - progress: The progress of the attempt.
    ///   - lastMove: When bytes last moved in either direction, or a pause ended.
    ///   - lastSend: When the last bytes of the request were sent; `nil` while the request's body is not complete.
    ///   - isHeld: Whether this side has paused the transfer, so that the peer is not considered idle.
    func next(
        _ progress: ExchangeState.Progress, lastMove: EngineInstant, lastSend: EngineInstant?, isHeld: Bool
    ) -> Expiry? {
        var first: Expiry?
        func consider(_ timeout: TrellisError.Timeout, _ limit: UInt64?, from instant: EngineInstant) {
            guard let limit else { return }
            let expiry = instant.advanced(byNanoseconds: limit)
            if first.map({ expiry < $0.instant }) ?? true { first = Expiry(timeout: timeout, instant: expiry) }
        }
        consider(.total, limits.total, from: start)
        switch progress {
        case .parked, .queued: break
        // The engine begins no connection with a limit of zero. The millisecond is for finding one that exists.
        case .connecting: consider(.connect, limits.connect.map { $0 == 0 ? 1_000_000 : $0 }, from: connectStart)
        case .sending where !isHeld:
            if let lastSend { consider(.responseHead, limits.responseHead, from: lastSend) }
            consider(.idle, limits.idle, from: lastMove)
        case .receiving where !isHeld: consider(.idle, limits.idle, from: lastMove)
        case .sending, .receiving: break
        }
        return first
    }
}

/// The time limits of ``Timeouts`` in nanoseconds, converted once because each request reads them several times; `nil` if there is no
/// limit. Most requests of a session share one instance.
final class TimeLimits: Sendable {
    let connect: UInt64?
    let responseHead: UInt64?
    let idle: UInt64?
    let total: UInt64?
    /// The field that tells the server how much is left of the total, if any.
    let deadlineField: DeadlineField?
    /// The shortest limit except the total. A limit that begins now does not end earlier. `.max` if there is no limit.
    let shortest: UInt64

    /// Converts timeouts to nanoseconds.
    ///
    /// - Parameter hasDefaultTotal: As in ``Timeouts/total(hasDefault:)``.
    init(_ timeouts: Timeouts, hasDefaultTotal: Bool = true) {
        connect = timeouts.connect?.clampedNanoseconds
        responseHead = timeouts.responseHead?.clampedNanoseconds
        idle = timeouts.idle?.clampedNanoseconds
        total = timeouts.total(hasDefault: hasDefaultTotal)?.clampedNanoseconds
        deadlineField = timeouts.deadlineField
        shortest = min(connect ?? .max, responseHead ?? .max, idle ?? .max)
    }

    private init(_ limits: TimeLimits, total: UInt64?) {
        connect = limits.connect
        responseHead = limits.responseHead
        idle = limits.idle
        self.total = total
        deadlineField = limits.deadlineField
        shortest = limits.shortest
    }

    /// Returns these limits, with the total limit of a call if that one is shorter.
    func within(_ total: UInt64?) -> TimeLimits {
        guard let total, total < self.total ?? .max else { return self }
        return TimeLimits(self, total: total)
    }
}

extension TimeLimits: Equatable {
    static func == (one: TimeLimits, other: TimeLimits) -> Bool {
        one.connect == other.connect && one.responseHead == other.responseHead && one.idle == other.idle
            && one.total == other.total && one.deadlineField == other.deadlineField
    }
}
