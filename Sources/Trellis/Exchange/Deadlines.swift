import CurlEngine

/// When a request has taken too long, as a value.
struct Deadlines: Hashable, Sendable {
    let timeouts: Timeouts
    /// When the call was made; ``Timeouts/total`` counts from here.
    let start: EngineInstant
    /// When the attempt got its slot.
    var attemptStart: EngineInstant

    init(timeouts: Timeouts, start: EngineInstant) {
        self.timeouts = timeouts
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
    ///   - activity: When bytes last moved, in either direction and in that of the request.
    ///   - isHeld: The transfer is held up on this side, so that it is not the peer that is idle.
    func next(
        _ progress: RequestState.Progress, activity: (last: EngineInstant, lastSend: EngineInstant)?, isHeld: Bool
    ) -> Expiry? {
        var first: Expiry?
        func consider(_ timeout: TrellisError.Timeout, _ limit: Duration?, from instant: EngineInstant) {
            guard let limit else { return }
            let expiry = instant.advanced(by: limit)
            if first.map({ expiry < $0.instant }) ?? true { first = Expiry(timeout: timeout, instant: expiry) }
        }
        consider(.total, timeouts.total, from: start)
        switch progress {
        case .parked, .queued: break
        case .connecting: consider(.connect, timeouts.connect, from: attemptStart)
        case .sending where !isHeld:
            consider(.responseHead, timeouts.responseHead, from: activity?.lastSend ?? attemptStart)
            consider(.idle, timeouts.idle, from: activity?.last ?? attemptStart)
        case .receiving where !isHeld: consider(.idle, timeouts.idle, from: activity?.last ?? attemptStart)
        case .sending, .receiving: break
        }
        return first
    }
}
