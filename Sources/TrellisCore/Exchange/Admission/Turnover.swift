import CurlEngine

/// How fast the places of an origin become free, as a value: from the times for which its requests have held theirs.
///
/// A wait follows from the mean time and the number of places (Little's law). The intervals between two releases would mislead where
/// requests end in waves, and where places were idle in between. Nothing is estimated from fewer than ``enough`` requests, and what
/// was measured before a minute without a request is forgotten.
struct Turnover: Hashable {
    /// The number of requests from which on there is an estimate.
    static var enough: Int { 16 }
    /// The weight of a request in the mean is one of this number at least.
    private static var window: UInt64 { 16 }
    /// The time without an event after which the measurements are forgotten, in nanoseconds.
    private static var memory: UInt64 { 60_000_000_000 }

    /// The number of requests that were measured, as far as it counts.
    private(set) var count = 0
    /// The mean time for which a request has held its place, in nanoseconds.
    private(set) var mean: UInt64 = 0
    /// When a request last got a place. Every request that holds one has held it since then at least.
    private var lastStart = EngineInstant(nanoseconds: 0)
    private var lastEnd = EngineInstant(nanoseconds: 0)

    /// Records that a request gets a place.
    mutating func begin(at now: EngineInstant) {
        if UInt64(now.nanoseconds(since: max(lastStart, lastEnd))) > Self.memory { self = Turnover() }
        lastStart = now
    }

    /// Records that a request has held its place for a time in nanoseconds.
    mutating func end(after held: UInt64, at now: EngineInstant) {
        lastEnd = now
        count = min(count + 1, Self.enough)
        // One long request says little about the next ones.
        let (most, overflow) = mean.multipliedReportingOverflow(by: 4)
        let held = count < Self.enough || overflow ? held : min(held, max(most, 10_000_000))
        let weight = min(UInt64(count), Self.window)
        mean = held > mean ? mean + (held - mean) / weight : mean - (mean - held) / weight
    }

    /// Returns the time in nanoseconds until a place becomes free for a new request; `nil` if too little is known.
    ///
    /// - Parameters:
    ///   - ahead: The number of requests that get a place before.
    ///   - places: The number of places, which are all held.
    func wait(behind ahead: Int, places: Int, at now: EngineInstant) -> UInt64? {
        guard count >= Self.enough, places > 0 else { return nil }
        let age = UInt64(now.nanoseconds(since: lastStart))
        // The requests that hold the places now may be slower than those before: they count for as long as they have lasted.
        let (all, overflow) = max(mean, age).multipliedReportingOverflow(by: UInt64(max(ahead, 0)))
        let (sum, overflows) = all.addingReportingOverflow(mean > age ? mean - age : age - mean)
        return (overflow || overflows ? .max : sum) / UInt64(places)
    }
}
