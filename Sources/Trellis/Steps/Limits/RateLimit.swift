/// How many requests each host gets in a second: a token bucket.
///
/// A host may get ``burst`` requests at once, and ``requestsPerSecond`` from then on. Requests beyond that wait, first come,
/// first served, and so do those that a retry or a redirect adds. A ``RateLimiter`` performs it.
public struct RateLimit: Sendable, Hashable {
    /// How many tokens come in a second; fractions are fine: 0.5 is a request every two seconds.
    public var requestsPerSecond: Double
    /// How many tokens there are at most: so many requests go out at once after a pause. 1 at least.
    public var burst: Int
    /// How long a request may have to wait; one that would have to wait longer fails at once with
    /// ``TrellisError/Kind/rateLimited``. `nil`, the default: as long as its deadline lets it.
    public var maximumWait: Duration?

    /// A limit.
    ///
    /// - Parameters:
    ///   - requestsPerSecond: how many tokens come in a second.
    ///   - burst: how many tokens there are at most; 1 unless given.
    ///   - maximumWait: how long a request may have to wait.
    public init(requestsPerSecond: Double, burst: Int = 1, maximumWait: Duration? = nil) {
        self.requestsPerSecond = requestsPerSecond
        self.burst = burst
        self.maximumWait = maximumWait
    }

    /// From one token to the next, in nanoseconds. A rate that makes no sense is one in a year.
    var interval: UInt64 {
        let longest = 365.0 * 86_400 * 1e9
        guard requestsPerSecond > 0 else { return UInt64(longest) }
        return UInt64(min(max(1e9 / requestsPerSecond, 1), longest))
    }
}
