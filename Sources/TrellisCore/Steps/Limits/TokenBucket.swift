import CurlEngine

/// The token bucket of one host, as a value: each request takes a token, and tokens are added at the rate.
struct TokenBucket: HostLimit {
    let maximumWait: UInt64?
    private let interval: UInt64
    /// The time in nanoseconds by which a burst may be ahead of the rate.
    private let tolerance: UInt64
    /// The time at which the bucket will be full again (the theoretical arrival time of the generic cell rate algorithm).
    private var full = EngineInstant(nanoseconds: 0)
    /// The number of the token that was taken last; tokens that are taken together have consecutive numbers.
    private(set) var lastToken = 0
    private var lastTaken = EngineInstant(nanoseconds: 0)

    init(_ limit: RateLimit) {
        interval = limit.interval
        let (product, overflow) = limit.interval.multipliedReportingOverflow(by: UInt64(max(limit.burst, 1) - 1))
        tolerance = overflow ? .max : product
        maximumWait = limit.maximumWait?.clampedNanoseconds
    }

    var hasRoom: Bool { true }

    func turn(behind count: Int) -> EngineInstant {
        let (product, overflow) = interval.multipliedReportingOverflow(by: UInt64(count))
        let end = full.advanced(byNanoseconds: overflow ? .max : product).nanoseconds
        return EngineInstant(nanoseconds: end > tolerance ? end - tolerance : 0)
    }

    mutating func take(at now: EngineInstant) {
        full = max(full, now).advanced(byNanoseconds: interval)
        lastToken += 1
        lastTaken = max(lastTaken, now)
    }

    /// Returns a token that was not used to the bucket, as if it had never been taken.
    ///
    /// Tokens that were taken after it count as if all of them had been taken when the last of them was: so the rate is never
    /// exceeded, and the token may be lost if other requests have already used it.
    mutating func giveBack(_ token: Int) {
        guard token > 0, token <= lastToken else { return }
        let (later, overflow) = interval.multipliedReportingOverflow(by: UInt64(lastToken - token))
        let least = lastTaken.advanced(byNanoseconds: overflow ? .max : later)
        let without = EngineInstant(nanoseconds: full.nanoseconds > interval ? full.nanoseconds - interval : 0)
        full = min(full, max(without, least))
        if token == lastToken { lastToken -= 1 }
    }

    func isForgettable(at now: EngineInstant) -> Bool { full <= now }
}
