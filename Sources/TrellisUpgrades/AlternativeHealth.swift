import FoundationEssentials
import TrellisCore

/// The experience with alternative services: which ones work, and which ones have failed and are not used for a while.
struct AlternativeHealth: Sendable {
    /// A service of an origin. The experience of one origin does not count for another one with the same service: any origin can name any
    /// service, which then has no certificate for it.
    struct Use: Hashable, Sendable {
        /// The key of the origin.
        let origin: String
        let service: AlternativeService
    }

    private struct Record {
        /// The number of failures since the service worked last.
        var failures = 0
        /// The date until which the service is not used.
        var brokenUntil = Date.distantPast
        /// Whether the last request to the service worked.
        var works = false
        /// Whether a request tests the service.
        var isTested = false
    }

    /// The time for which a service is not used after its first failure; it doubles with each further failure.
    static let firstBreak = 300.0
    /// The longest time for which a service is not used.
    static let longestBreak = 172_800.0
    /// The number of services that are remembered.
    static let limit = 1024

    private var records: [Use: Record] = [:]
    /// The number of times that everything was forgotten.
    private var generation = 0

    /// Returns whether a request may be sent to a service now. A service that is not known to work is tested by one request at a time, so
    /// that the others do not wait for a connection that may never be made.
    func mayUse(_ use: Use, at now: Date) -> Bool {
        guard let record = records[use] else { return true }
        return record.works || !record.isTested && record.brokenUntil <= now
    }

    /// Records the beginning of a request. Returns the number of times that everything was forgotten before, with which the request ends.
    mutating func begin(_ use: Use, at now: Date) -> Int {
        if records.count >= Self.limit, records[use] == nil {
            records = records.filter { $0.value.isTested || now < $0.value.brokenUntil }
            if records.count >= Self.limit { forgetHalf() }
        }
        records[use, default: Record()].isTested = true
        return generation
    }

    /// Forgets the services that may be used soonest.
    private mutating func forgetHalf() {
        let order = records.map { use, record in
            (use: use, end: record.isTested ? Date.distantFuture : record.brokenUntil)
        }
        for (use, _) in order.sorted(by: { $0.end < $1.end }).prefix(Self.limit / 2) { records[use] = nil }
    }

    /// Records the end of a request. Returns the time in seconds for which the service is not used, if it has failed. What happens to a
    /// request from before everything was forgotten does not count: it may have been sent in another network.
    ///
    /// - Parameter generation: The result of ``begin(_:at:)``.
    @discardableResult
    mutating func end(_ use: Use, _ outcome: AlternativeOutcome, generation: Int, at now: Date) -> Double? {
        guard generation == self.generation else { return nil }
        var record = records[use] ?? Record()
        record.isTested = false
        var pause: Double?
        switch outcome {
        case .worked: record = Record(works: true)
        // Requests that were under way at once fail at once, which is one failure.
        case .failed where now < record.brokenUntil: pause = record.brokenUntil.timeIntervalSince(now)
        case .failed:
            let time = min(Self.firstBreak * Double(1 << min(record.failures, 16)), Self.longestBreak)
            record.failures += 1
            record.works = false
            record.brokenUntil = now.addingTimeInterval(time)
            pause = time
        case .unknown: break
        }
        records[use] = record
        return pause
    }

    /// Forgets everything, also what is still to happen to requests under way.
    mutating func removeAll() {
        records = [:]
        generation += 1
    }
}
