import FoundationEssentials

/// How long a download goes on after interruptions, as a value: for ever where something comes, and a few times where nothing
/// does.
struct DownloadPatience: Hashable, Sendable {
    private let limit: Int
    /// In a row, with nothing in between.
    private var failures = 0
    /// Bytes since the last one that could be kept.
    private var gained: Int64 = 0
    /// How often all began anew.
    private var restarts = 0

    init(limit: Int) { self.limit = limit }

    /// Bytes have come that need not come again.
    mutating func gain(_ count: Int) { gained += Int64(count) }

    /// What was there is of no use; `false` where that has happened too often.
    mutating func restart() -> Bool {
        restarts += 1
        gained = 0
        return restarts <= max(limit, 1)
    }

    /// How long to wait before going on; `nil`: no more.
    ///
    /// After many bytes not at all. After few, or none, longer and longer: up to 30 s, a random part of which is left out, so that
    /// the clients of a server that has failed do not all come back at once.
    ///
    /// - Parameter random: From 0 up to 1.
    mutating func delay(random: Double) -> Duration? {
        defer { gained = 0 }
        if gained > 0 { failures = 0 }
        failures += 1
        guard failures <= limit else { return nil }
        if gained >= 16 << 10 { return .zero }
        let span = min(0.1 * Double(sign: .plus, exponent: 2 * min(failures - 1, 10), significand: 1), 30)
        return .milliseconds(Int(1000 * span * (1 - random / 2)))
    }
}
