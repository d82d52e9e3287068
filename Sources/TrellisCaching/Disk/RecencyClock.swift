import TrellisCore

/// The instants of uses in nanoseconds since 1970. Each is later than the ones before it, even if the system's clock is set back.
struct RecencyClock: Sendable {
    /// The latest instant that counts: files may have any date.
    private static let maximum: UInt64 = 1 << 62

    private var last: UInt64 = 0

    /// Returns the instant of a use.
    ///
    /// - Parameter now: The present time of the system.
    mutating func next(at now: UInt64) -> UInt64 {
        last = max(now, last + 1)
        return last
    }

    /// Makes all further instants later than one that is known.
    mutating func pass(_ instant: UInt64) { last = max(last, min(instant, Self.maximum)) }
}
