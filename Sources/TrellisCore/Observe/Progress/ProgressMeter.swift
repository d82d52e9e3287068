package import CurlEngine

/// A counter of a transfer's bytes that decides which values observers get, and at which instants. The caller passes every
/// instant.
package struct ProgressMeter: Sendable {
    /// The shortest time between two reports to observers, in nanoseconds: ten reports per second.
    static let interval: UInt64 = 100_000_000
    /// The time over which the rate is averaged, in seconds.
    private static let memory = 2.0

    private let start: EngineInstant
    /// The number of completed bytes, including the bytes of an existing part.
    package private(set) var completed: Int64 = 0
    /// The expected number of bytes; `nil` if it is not known.
    package private(set) var total: Int64?
    /// The number of bytes that moved since ``start``.
    private(set) var moved: Int64 = 0
    /// The average rate in bytes per second; `nil` if there is no sample yet.
    private var rate: Double?
    /// The beginning of the current sample; `nil` if no bytes have moved, so that the time to connect does not lower the rate.
    private var sample: (instant: EngineInstant, moved: Int64)?
    private var lastReport: EngineInstant?
    /// The instant at which the transfer ended; `nil` during the transfer.
    private var end: EngineInstant?
    /// Whether bytes have moved that have not been reported to observers.
    package private(set) var isAhead = false

    /// Creates a meter for a transfer that starts at an instant.
    package init(start: EngineInstant, total: Int64? = nil) {
        self.start = start
        self.total = total
    }

    /// Counts bytes that have moved. Returns `true` if observers are to be informed.
    package mutating func advance(by count: Int64, at now: EngineInstant) -> Bool {
        guard end == nil, count > 0 else { return false }
        completed += count
        // The time that the first bytes took is unknown.
        if sample == nil { sample = (now, count) }
        moved += count
        isAhead = true
        if let lastReport, now.nanoseconds(since: lastReport) < Self.interval { return false }
        report(at: now)
        return true
    }

    /// Takes a sample and marks all bytes as reported to observers.
    package mutating func report(at now: EngineInstant) {
        guard end == nil else { return }
        takeSample(at: now)
        lastReport = now
        isAhead = false
    }

    /// Sets the position of the transfer: after an existing part, or at the beginning. The caller informs observers.
    package mutating func jump(to completed: Int64, at now: EngineInstant) {
        guard end == nil else { return }
        self.completed = completed
        lastReport = now
    }

    /// Sets the total number of bytes; `nil` if it is unknown. The caller informs observers.
    package mutating func expect(_ total: Int64?) { if end == nil { self.total = total } }

    /// Ends the measurement.
    package mutating func finish(at now: EngineInstant) { if end == nil { end = now } }

    /// Updates the average rate with the bytes since the last sample.
    private mutating func takeSample(at now: EngineInstant) {
        guard let sample else { return }
        let seconds = Double(now.nanoseconds(since: sample.instant)) / 1e9
        guard seconds > 0 else { return }
        let current = Double(moved - sample.moved) / seconds
        rate = rate.map { $0 + (current - $0) * seconds / (seconds + Self.memory) } ?? current
        self.sample = (now, moved)
    }

    /// Returns the progress of the transfer at an instant.
    package func progress(at now: EngineInstant) -> TransferProgress {
        let elapsed = (end ?? now).nanoseconds(since: start)
        let average = moved > 0 && elapsed > 0 ? Double(moved) * 1e9 / Double(elapsed) : nil
        return TransferProgress(
            completedBytes: completed, transferredBytes: moved, totalBytes: total,
            bytesPerSecond: end == nil ? rate : average, elapsed: .nanoseconds(elapsed))
    }
}
