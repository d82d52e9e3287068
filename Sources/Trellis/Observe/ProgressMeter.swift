package import CurlEngine

/// Counts the bytes of a transfer, and says when and what its observers are told. A value that is driven by instants.
package struct ProgressMeter: Sendable {
    /// Observers are told at most so often, in nanoseconds: ten times a second.
    static let interval: UInt64 = 100_000_000
    /// How far back the rate looks, in seconds.
    private static let memory = 2.0

    private let start: EngineInstant
    package private(set) var completed: Int64 = 0
    package private(set) var total: Int64?
    /// Bytes that moved since ``start``.
    private var moved: Int64 = 0
    private var rate: Double?
    /// Where the sample that is being taken began; `nil` before the first bytes: making a connection is not slowness.
    private var sample: (instant: EngineInstant, moved: Int64)?
    private var lastReport: EngineInstant?
    private var end: EngineInstant?
    /// Bytes have moved that observers have not been told of.
    package private(set) var isAhead = false

    /// Begins to measure.
    package init(start: EngineInstant, total: Int64? = nil) {
        self.start = start
        self.total = total
    }

    /// Bytes have moved. `true` where observers are to be told.
    package mutating func advance(by count: Int64, at now: EngineInstant) -> Bool {
        guard end == nil, count > 0 else { return false }
        completed += count
        // The first bytes have no time that they took.
        if sample == nil { sample = (now, count) }
        moved += count
        isAhead = true
        if let lastReport, now.nanoseconds(since: lastReport) < Self.interval { return false }
        report(at: now)
        return true
    }

    /// Observers are told now.
    package mutating func report(at now: EngineInstant) {
        guard end == nil else { return }
        takeSample(at: now)
        lastReport = now
        isAhead = false
    }

    /// The transfer goes on from another place: a part was there already, or it starts over. Tell observers.
    package mutating func jump(to completed: Int64, at now: EngineInstant) {
        guard end == nil else { return }
        self.completed = completed
        lastReport = now
    }

    /// So many bytes are there in all; `nil`: nobody knows. Tell observers.
    package mutating func expect(_ total: Int64?) { if end == nil { self.total = total } }

    /// Nothing moves any more.
    package mutating func finish(at now: EngineInstant) { if end == nil { end = now } }

    private mutating func takeSample(at now: EngineInstant) {
        guard let sample else { return }
        let seconds = Double(now.nanoseconds(since: sample.instant)) / 1e9
        guard seconds > 0 else { return }
        let current = Double(moved - sample.moved) / seconds
        rate = rate.map { $0 + (current - $0) * seconds / (seconds + Self.memory) } ?? current
        self.sample = (now, moved)
    }

    /// How far the transfer is.
    package func progress(at now: EngineInstant) -> TransferProgress {
        let elapsed = (end ?? now).nanoseconds(since: start)
        let average = moved > 0 && elapsed > 0 ? Double(moved) * 1e9 / Double(elapsed) : nil
        return TransferProgress(
            completedBytes: completed, totalBytes: total, bytesPerSecond: end == nil ? rate : average,
            elapsed: .nanoseconds(elapsed))
    }
}
