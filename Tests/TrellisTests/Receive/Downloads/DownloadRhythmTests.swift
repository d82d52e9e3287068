import CurlEngine
import Testing

@testable import Trellis

/// When a download looks after its file.
struct DownloadRhythmTests {
    private static let start = EngineInstant(nanoseconds: 5_000_000_000)
    private var rhythm = DownloadRhythm(now: start, count: 100)

    private mutating func isDue(_ milliseconds: Int, _ count: Int64) -> Bool {
        rhythm.isDue(Self.start.advanced(by: .milliseconds(milliseconds)), count: count)
    }

    @Test mutating func byTime() {
        let due = [0, 999, 1000, 1001, 1999, 2000, 10_000, 10_999].map { isDue($0, 100) }
        #expect(due == [false, false, true, false, false, true, true, false])
    }

    @Test mutating func bySize() {
        let due = [100, 8 << 20, (8 << 20) + 100, (8 << 20) + 101, (16 << 20) + 100].map { isDue(1, $0) }
        #expect(due == [false, false, true, false, true])
    }

    @Test mutating func eitherCountsForBoth() {
        let times = [(900, 9 << 20), (1000, 10 << 20), (1899, 10 << 20), (2000, 10 << 20)]
        let due = times.map { isDue($0.0, Int64($0.1)) }
        #expect(due == [true, false, false, true])
    }
}
