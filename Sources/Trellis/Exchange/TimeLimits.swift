import CurlEngine

/// ``Timeouts`` in nanoseconds: they are looked at several times in every request.
struct TimeLimits: Hashable, Sendable {
    let connect: UInt64?
    let responseHead: UInt64?
    let idle: UInt64?
    let total: UInt64?
    /// No limit that begins now is over sooner.
    let shortest: UInt64

    init(_ timeouts: Timeouts) {
        connect = timeouts.connect?.clampedNanoseconds
        responseHead = timeouts.responseHead?.clampedNanoseconds
        idle = timeouts.idle?.clampedNanoseconds
        total = timeouts.total?.clampedNanoseconds
        shortest = min(connect ?? .max, responseHead ?? .max, idle ?? .max)
    }
}
