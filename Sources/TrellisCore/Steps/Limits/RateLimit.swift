/// A limit on the number of requests to each host in a second: a token bucket.
///
/// A host may get ``burst`` requests at once, and ``requestsPerSecond`` from then on. Further requests wait, first come, first
/// served, including those that a retry or a redirect adds. A ``RateLimiter`` enforces the limit.
public struct RateLimit: Sendable, Hashable {
    /// The number of tokens that are added in a second; fractions are allowed: 0.5 is a request every two seconds. There is
    /// no default.
    public var requestsPerSecond: Double
    /// The largest number of tokens, which is the number of requests that are sent at once after a pause. 1 by default, and at
    /// least.
    public var burst: Int
    /// The longest time that a request may have to wait; a request that would have to wait longer fails at once with
    /// ``TrellisError/Kind/rateLimited``. `nil`, the default: as long as the deadline of the request allows.
    public var maximumWait: Duration?

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - requestsPerSecond: The number of tokens that are added in a second.
    ///   - burst: The largest number of tokens; 1 unless given.
    ///   - maximumWait: The longest time that a request may have to wait.
    public init(requestsPerSecond: Double, burst: Int = 1, maximumWait: Duration? = nil) {
        self.requestsPerSecond = requestsPerSecond
        self.burst = burst
        self.maximumWait = maximumWait
    }

    /// The time from one token to the next, in nanoseconds. An invalid rate counts as one token per year.
    var interval: UInt64 {
        let longest = 365.0 * 86_400 * 1e9
        guard requestsPerSecond > 0 else { return UInt64(longest) }
        return UInt64(min(max(1e9 / requestsPerSecond, 1), longest))
    }
}
