import FoundationEssentials
import TrellisCore

/// The limits and delays of further attempts after interruptions, as a value: no limit while bytes arrive, a few attempts in a row
/// without any, and two, at short intervals, if no bytes can be kept. Attempts without a network are not counted for a while.
struct DownloadBackoff: Hashable, Sendable {
    /// The number of further attempts if no bytes can be kept: enough to find out whether the server ever sends the complete file.
    private static let limitWithoutKeptBytes = 2

    /// The time for which failures without a network are not counted.
    private static let offlineLimit = Duration.seconds(120)

    /// The number of failures in a row after which a further attempt is allowed.
    private let limit: Int
    /// Whether the caller bounds the number of attempts.
    private let isBounded: Bool
    /// The number of failures in a row without any bytes in between.
    private var failures = 0
    /// The number of failures in a row without a network, which are not counted.
    private var offlineFailures = 0
    /// The sum of the delays after failures that were not counted, since the last bytes.
    private var offlineTime = Duration.zero
    /// The number of bytes that could be kept since the last failure.
    private var keptBytes: Int64 = 0
    /// The number of times that the file began again.
    private var restarts = 0

    init(_ options: DownloadOptions) {
        self.init(limit: options.maximumFailures, maximum: options.maximumInterruptions)
    }

    /// Creates the limits.
    ///
    /// - Parameters:
    ///   - limit: The number of further attempts in a row without any bytes in between.
    ///   - maximum: The number of further attempts in all, with or without bytes; `nil` if there is no such limit. The caller counts
    ///     these.
    init(limit: Int, maximum: Int? = nil) {
        self.limit = maximum ?? limit
        isBounded = maximum != nil
    }

    /// Records bytes that need not be downloaded again.
    mutating func recordProgress(_ count: Int) { keptBytes += Int64(count) }

    /// Records that the bytes so far are unusable; returns `false` if that has happened too often.
    mutating func restart() -> Bool {
        restarts += 1
        keptBytes = 0
        return restarts <= max(limit, 1)
    }

    /// Returns the time to wait before a further attempt; `nil` if none is allowed.
    ///
    /// There is no wait after 16 KiB or more. After fewer bytes, or none, it grows with the failures in a row, up to 30 s. A
    /// random part, up to half, is left out, so that the clients of a server that has failed do not all return at once.
    ///
    /// - Parameters:
    ///   - random: A number from 0 up to 1.
    ///   - canKeepBytes: Whether bytes that arrive can be kept.
    ///   - isOffline: Whether the network is missing.
    mutating func delay(random: Double, canKeepBytes: Bool = true, isOffline: Bool = false) -> Duration? {
        defer { keptBytes = 0 }
        if keptBytes > 0 { (failures, offlineFailures, offlineTime) = (0, 0, .zero) }
        if isOffline, !isBounded, limit > 0, offlineTime < Self.offlineLimit {
            offlineFailures += 1
            let delay = Self.delay(after: offlineFailures, random: random)
            offlineTime += delay
            return delay
        }
        offlineFailures = 0
        failures += 1
        guard failures <= (canKeepBytes || isBounded ? limit : min(limit, Self.limitWithoutKeptBytes)) else {
            return nil
        }
        return keptBytes >= 16 << 10 ? .zero : Self.delay(after: failures, random: random)
    }

    private static func delay(after failures: Int, random: Double) -> Duration {
        Duration.milliseconds(100).backoff(by: 4, after: failures, upTo: .seconds(30)) * (1 - random / 2)
    }
}
