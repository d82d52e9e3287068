import CurlEngine
import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// The times at which a download writes a checkpoint.
struct CheckpointScheduleTests {
    private static let start = EngineInstant(nanoseconds: 5_000_000_000)
    private var schedule = CheckpointSchedule(now: start, count: 100)

    @Test mutating func byTime() {
        let due = [0, 999, 1000, 1001, 1999, 2000, 10_000, 10_999].map {
            schedule.isIntervalOver(at: Self.start.advanced(by: .milliseconds($0)))
        }
        #expect(due == [false, false, true, false, false, true, true, false])
    }

    @Test mutating func bySize() {
        let step: Int64 = 8 << 20
        let counts: [Int64] = [100, step, step + 100, step + 101, 2 * step + 100]
        let due = counts.map { schedule.hasEnoughBytes($0) }
        #expect(due == [false, false, true, false, true])
    }
}
