import Testing

@testable import CurlEngine

@Suite struct HTTP3RecordsTests {
    private let start = EngineInstant(nanoseconds: 1_000_000_000)

    @Test func aLossCountsForATime() {
        var records = HTTP3Records()
        #expect(records.record(of: "a", now: start) == nil)
        records.didLose("a", now: start)
        let end = start.advanced(by: HTTP3Records.pause)
        #expect(records.record(of: "a", now: start) == .lost(until: end))
        #expect(records.record(of: "b", now: start) == nil)
        #expect(records.record(of: "a", now: end) == nil)
    }

    @Test func theLastExperienceCounts() {
        var records = HTTP3Records()
        records.didLose("a", now: start)
        records.didConnect("a", now: start)
        #expect(records.record(of: "a", now: start) == .works)
        records.forget("a")
        #expect(records.record(of: "a", now: start) == nil)
    }

    @Test func theNumberOfRecordsIsBounded() {
        var records = HTTP3Records()
        for number in 0..<3 * HTTP3Records.limit {
            if number % 2 == 0 {
                records.didLose("\(number)", now: start)
            } else {
                records.didConnect("\(number)", now: start)
            }
            #expect(records.count <= HTTP3Records.limit)
        }
        // Losses that count are kept as long as there is room.
        let last = 3 * HTTP3Records.limit - 2
        #expect(records.record(of: "\(last)", now: start) != nil)
    }
}
