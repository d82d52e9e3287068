import CurlEngine

/// The time limits of an exchange and the instants from which they count, as a value.
struct Deadlines: Hashable, Sendable {
    let limits: TimeLimits
    /// The instant at which the call was made; ``Timeouts/total`` counts from here.
    let start: EngineInstant
    /// The instant at which the attempt got its slot.
    var attemptStart: EngineInstant

    init(limits: TimeLimits, start: EngineInstant) {
        self.limits = limits
        self.start = start
        attemptStart = start
    }

    /// A limit and the instant at which it is reached.
    struct Expiry: Hashable, Sendable {
        let timeout: TrellisError.Timeout
        let instant: EngineInstant
    }

    /// Returns the first limit that will be reached if nothing more happens; `nil`: no limit applies.
    ///
    /// - Parameters:
    ///   - progress: The progress of the attempt.
    ///   - lastMove: The instant at which bytes last moved, in either direction, or were allowed to move again.
    ///   - lastSend: The instant at which the last bytes of the request were sent; `nil` while its body is not complete.
    ///   - isHeld: A Boolean value: the transfer is paused on this side, so that the peer is not idle.
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
