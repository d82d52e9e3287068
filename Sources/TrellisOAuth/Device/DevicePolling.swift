import TrellisCore

/// The rule for the questions of a device (RFC 8628, section 3.5), without a clock.
struct DevicePolling: Sendable, Hashable {
    /// The decision after an answer.
    enum Decision: Hashable, Sendable {
        /// The device asks again after the time.
        case wait(Duration)
        /// The device stops, with the answer's error.
        case stop
    }

    /// The time between two questions.
    private(set) var interval: Duration
    /// The time that is left.
    private(set) var left: Duration

    /// - Parameters:
    ///   - interval: The time between two questions that the server has named, in seconds; 5 if it has named none.
    ///   - lifetime: The time within which the code must be entered.
    init(interval: Double?, lifetime: Duration) {
        // A server must not make the device ask without a pause, nor never.
        self.interval = .seconds(min(max(interval ?? 5, 1), 300))
        left = lifetime
    }

    /// Returns the wait before the first question.
    mutating func begin() -> Decision { next() }

    /// Decides after an error.
    mutating func decide(after error: any Error) -> Decision {
        switch error {
        case let refusal as OAuthRefusal where refusal.code == "authorization_pending": break
        case let refusal as OAuthRefusal where refusal.code == "slow_down": interval += .seconds(5)
        case is OAuthRefusal: return .stop
        // A server that is slow or away is asked less often.
        case let error where OAuthAuthenticator.isTransient(error): interval = min(interval * 2, .seconds(300))
        default: return .stop
        }
        return next()
    }

    /// Takes note of the time that a question took.
    mutating func spend(_ duration: Duration) { left -= max(duration, .zero) }

    private mutating func next() -> Decision {
        guard interval < left else {
            left = .zero
            return .stop
        }
        left -= interval
        return .wait(interval)
    }
}
