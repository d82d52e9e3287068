import FoundationEssentials
public import TrellisCore

/// The credential of an ``OAuthAuthenticator``: a token and the instant at which it is renewed, or no token yet.
public struct OAuthCredential: AuthenticationCredential {
    /// The token; `nil` before the first one.
    public let token: OAuthToken?
    /// The instant from which a call asks for another token; `nil` if only a refusal does.
    let renewal: Date?
    private let now: @Sendable () -> Date

    init(_ token: OAuthToken?, renewal: Date?, now: @escaping @Sendable () -> Date) {
        self.token = token
        self.renewal = renewal
        self.now = now
    }

    /// Whether there is no token, or the token expires soon.
    public var requiresRefresh: Bool {
        guard token != nil else { return true }
        return renewal.map { $0 <= now() } ?? false
    }
}

/// The rule for the time at which a token is renewed ahead of its expiry.
///
/// The time before the expiry is ``margin``, and up to ``jitter`` of it more, at random, so that the processes that got their tokens at the
/// same time do not ask at the same time. It is never more than a quarter of the time that is left, and the same jitter.
public struct OAuthRenewal: Sendable, Hashable {
    /// The time before the expiry, 60 seconds by default. Zero renews at the expiry, a negative time as zero.
    public var margin: Duration
    /// The part of the margin, from 0 to 1, that chance adds at most; 0.5 by default.
    public var jitter: Double

    /// Creates a rule.
    public init(margin: Duration = .seconds(60), jitter: Double = 0.5) {
        self.margin = margin
        self.jitter = jitter
    }

    /// Returns the instant at which a token is renewed.
    ///
    /// - Parameter random: A number from 0 up to 1.
    func renewal(expiring expiration: Date, now: Date, random: Double) -> Date {
        let left = max(expiration.timeIntervalSince(now), 0)
        let part = jitter.isNaN ? 0 : min(max(jitter, 0), 1)
        let early = min(max(margin / .seconds(1), 0), left / 4) * (1 + part * random)
        return expiration.addingTimeInterval(-early)
    }

    /// Returns the instant of the next attempt after one that failed while the token was still good; `nil` if it expires too soon to wait.
    func renewal(afterFailureOf expiration: Date, now: Date) -> Date? {
        let left = expiration.timeIntervalSince(now)
        return left < 2 ? nil : now.addingTimeInterval(min(left / 2, 30))
    }
}
