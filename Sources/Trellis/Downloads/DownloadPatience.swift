import FoundationEssentials

/// How long a download goes on after interruptions, as a value: for ever where something comes, a few times where nothing does, and
/// twice, quickly, where nothing that comes can be kept.
struct DownloadPatience: Hashable, Sendable {
    /// How often it goes on where nothing that comes can be kept: that tells whether the server ever sends all of it.
    private static let limitWithoutGain = 2

    private let limit: Int
    /// Something else bounds how often it goes on.
    private let isBounded: Bool
    /// In a row, with nothing in between.
    private var failures = 0
    /// Bytes since the last one that could be kept.
    private var gained: Int64 = 0
    /// How often all began anew.
    private var restarts = 0

    init(_ options: DownloadOptions) {
        self.init(limit: options.maximumFailures, maximum: options.maximumInterruptions)
    }

    /// - Parameters:
    ///   - limit: How often in a row it goes on with nothing in between.
    ///   - maximum: How often in all, whatever came: if there is one, it is counted by the one who asks.
    init(limit: Int, maximum: Int? = nil) {
        self.limit = maximum ?? limit
        isBounded = maximum != nil
    }

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
    /// - Parameters:
    ///   - random: From 0 up to 1.
    ///   - canGain: What comes can be kept.
    mutating func delay(random: Double, canGain: Bool = true) -> Duration? {
        defer { gained = 0 }
        if gained > 0 { failures = 0 }
        failures += 1
        guard failures <= (canGain || isBounded ? limit : min(limit, Self.limitWithoutGain)) else { return nil }
        if gained >= 16 << 10 { return .zero }
        let span = min(0.1 * Double(sign: .plus, exponent: 2 * min(failures - 1, 10), significand: 1), 30)
        return .milliseconds(Int(1000 * span * (1 - random / 2)))
    }
}
