import CurlEngine
import TrellisCore

/// The schedule by which a download checks that its file still exists and writes its checkpoints. A value.
struct CheckpointSchedule: Sendable {
    /// The time, in nanoseconds, between two durable checkpoints: bytes of that time may have to be downloaded again after a
    /// failure of the machine.
    private static let interval: Int64 = 1_000_000_000
    /// The number of bytes between two checkpoints before the first durable one: as many may have to be downloaded again after
    /// the sudden end of a process.
    private static let bytes: Int64 = 8 << 20

    /// The time of the last checkpoint.
    private var last: EngineInstant
    /// The number of bytes at the last checkpoint.
    private var count: Int64

    init(now: EngineInstant, count: Int64 = 0) {
        last = now
        self.count = count
    }

    /// Returns whether the interval is over, and starts the next one if so.
    mutating func isIntervalOver(at now: EngineInstant) -> Bool {
        guard now.nanoseconds(since: last) >= Self.interval else { return false }
        last = now
        return true
    }

    /// Returns whether enough bytes have arrived since the last checkpoint, and counts from `count` on if so.
    mutating func hasEnoughBytes(_ count: Int64) -> Bool {
        guard count - self.count >= Self.bytes else { return false }
        self.count = count
        return true
    }
}
