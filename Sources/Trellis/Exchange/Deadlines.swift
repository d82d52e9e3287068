import CurlEngine

/// When a request has taken too long, as a value.
struct Deadlines: Hashable, Sendable {
    let limits: TimeLimits
    /// When the call was made; ``Timeouts/total`` counts from here.
    let start: EngineInstant
    /// When the attempt got its slot.
    var attemptStart: EngineInstant

    init(limits: TimeLimits, start: EngineInstant) {
        self.limits = limits
        self.start = start
        attemptStart = start
    }

    /// A limit and when it is reached.
    struct Expiry: Hashable, Sendable {
        let timeout: TrellisError.Timeout
        let instant: EngineInstant
    }

    /// The first limit that will be reached if nothing more happens.
    ///
    /// - Parameters:
    ///   - progress: How far the attempt is.
    ///   - lastMove: When bytes last moved, in either direction, or were let move again.
    ///   - lastSend: When the last bytes of the request left, `nil` while its body is not complete.
    ///   - isHeld: The transfer is held up on this side, so that it is not the peer that is idle.
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
        case .connecting: consider(.connect, limits.connect, from: attemptStart)
        case .sending where !isHeld:
            if let lastSend { consider(.responseHead, limits.responseHead, from: lastSend) }
            consider(.idle, limits.idle, from: lastMove)
        case .receiving where !isHeld: consider(.idle, limits.idle, from: lastMove)
        case .sending, .receiving: break
        }
        return first
    }
}
