import CurlEngine
import Testing

@testable import TrellisCore

/// The estimate of a wait, from the times for which requests have held their places.
struct TurnoverTests {
    private static let second: UInt64 = 1_000_000_000

    private static func at(_ milliseconds: UInt64) -> EngineInstant {
        EngineInstant(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
    }

    /// Returns the measurements of requests that have held their places for a second each, one after the other.
    private static func measured(_ count: Int) -> Turnover {
        var turnover = Turnover()
        for number in 0..<UInt64(count) {
            turnover.begin(at: at(number * 1000))
            turnover.end(after: second, at: at((number + 1) * 1000))
        }
        return turnover
    }

    @Test func nothingIsEstimatedFromTooFewRequests() {
        #expect(Self.measured(15).wait(behind: 100, places: 1, at: Self.at(15_000)) == nil)
        #expect(Self.measured(16).wait(behind: 100, places: 1, at: Self.at(16_000)) != nil)
        #expect(Self.measured(16).wait(behind: 100, places: 0, at: Self.at(16_000)) == nil)
    }

    @Test(arguments: [(0, 1, 1000), (1, 1, 2000), (3, 1, 4000), (3, 2, 2000), (7, 4, 2000)] as [(Int, Int, UInt64)])
    func theWaitGrowsWithTheQueueAndShrinksWithThePlaces(_ ahead: Int, _ places: Int, _ milliseconds: UInt64) {
        var turnover = Self.measured(16)
        turnover.begin(at: Self.at(16_000))
        #expect(turnover.wait(behind: ahead, places: places, at: Self.at(16_000)) == milliseconds * 1_000_000)
    }

    @Test func theTimeThatThePresentRequestHasLastedCounts() {
        var turnover = Self.measured(16)
        turnover.begin(at: Self.at(16_000))
        #expect(turnover.wait(behind: 0, places: 1, at: Self.at(16_900)) == Self.second / 10)
        #expect(turnover.wait(behind: 0, places: 1, at: Self.at(17_000)) == 0)
        // It is slower than those before, and the next ones may be so too.
        #expect(turnover.wait(behind: 0, places: 1, at: Self.at(21_000)) == 4 * Self.second)
        #expect(turnover.wait(behind: 1, places: 1, at: Self.at(21_000)) == 9 * Self.second)
    }

    @Test func oneLongRequestCountsForFourTimesTheMeanAtMost() {
        var turnover = Self.measured(16)
        turnover.end(after: 1000 * Self.second, at: Self.at(16_000))
        #expect(turnover.mean == Self.second + 3 * Self.second / 16)
        for _ in 0..<100 { turnover.end(after: 1000 * Self.second, at: Self.at(16_000)) }
        #expect(turnover.mean > 900 * Self.second)
    }

    @Test func whatWasMeasuredBeforeAMinuteOfIdlenessIsForgotten() {
        var turnover = Self.measured(16)
        turnover.begin(at: Self.at(76_000))
        #expect(turnover.count == 16)
        turnover = Self.measured(16)
        turnover.begin(at: Self.at(76_001))
        #expect(turnover.count == 0)
    }

    @Test func extremeNumbersAreNoTrap() {
        var turnover = Turnover()
        for _ in 0..<40 { turnover.end(after: .max, at: EngineInstant(nanoseconds: .max)) }
        #expect(turnover.wait(behind: .max, places: 1, at: EngineInstant(nanoseconds: .max)) == .max)
        #expect(turnover.wait(behind: .min, places: .max, at: EngineInstant(nanoseconds: 0)) != nil)
    }
}
