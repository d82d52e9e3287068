import CurlEngine
import Testing

@testable import Trellis

/// The number of engines that get new requests.
struct EngineScalingTests {
    private var scaling = EngineScaling(EngineCount(initial: 1, maximum: 3))
    private var now = EngineInstant(nanoseconds: 1_000_000_000)

    /// Records the same sample of each engine a number of times. Returns the changes of the number.
    private mutating func sample(_ shares: [Double], times: Int) -> [Int] {
        (0..<times).flatMap { _ in
            now = now.advanced(by: .milliseconds(100))
            return shares.indices.compactMap { scaling.sample(shares[$0], of: $0, at: now) }
        }
    }

    @Test mutating func anEngineIsAddedAfterThreeBusySamples() {
        #expect(sample([0.9], times: 2) == [])
        #expect(sample([0.9], times: 1) == [2])
        #expect(sample([0.9], times: 100) == [], "the second engine is not busy")
    }

    @Test mutating func aCalmSampleInBetweenBeginsAnew() {
        #expect(sample([0.9], times: 2) == [])
        #expect(sample([0.5], times: 1) == [])
        #expect(sample([0.9], times: 2) == [])
        #expect(scaling.count == 1)
    }

    @Test mutating func thereAreNeverMoreThanTheMaximum() {
        #expect(sample([1, 1, 1, 1], times: 100) == [2, 3])
    }

    @Test mutating func enginesAreTakenAwayAfterALongerCalm() {
        #expect(sample([1, 1, 1], times: 20) == [2, 3])
        #expect(sample([0.2, 0.1, 0.1], times: 29) == [])
        #expect(sample([0.2, 0.1, 0.1], times: 100) == [2, 1])
    }

    @Test mutating func anEngineThatSleepsCountsAsIdle() {
        #expect(sample([1, 1], times: 3) == [2])
        #expect(sample([0.1], times: 70) == [1])
    }

    /// All engines make samples once their executors have been handed out.
    @Test mutating func onlyActiveEnginesDecide() {
        #expect(sample([0.9, 0.1, 0.1], times: 2) == [])
        #expect(sample([0.9, 0.1, 0.1], times: 1) == [2])
        #expect(sample([0.1, 0.1, 0.1], times: 29) == [])
        #expect(sample([0.1, 0.1, 0.1], times: 1) == [1])
    }

    /// Requests leave an engine that is busy for longer than a short burst.
    @Test mutating func anEngineIsBusyAfterThreeBusySamplesUntilTheyAreOld() {
        #expect(scaling.busyEnd(of: 0) == nil)
        for (share, isBusy) in [(0.9, false), (0.8, false), (0.75, true), (1.0, true), (0.7, false), (0.9, false)] {
            _ = sample([share, 0.1], times: 1)
            #expect(scaling.busyEnd(of: 0) == (isBusy ? now.advanced(by: EngineScaling.lifetime) : nil))
            #expect(scaling.busyEnd(of: 1) == nil)
        }
    }

    @Test func theNumberOfEnginesIsLimited() {
        #expect(EngineCount.fixed(0) == .one)
        #expect(EngineCount.fixed(3).maximum == 3)
        #expect("\(EngineCount(initial: 1, maximum: 8))" == "1 to 8 engines")
        #expect("\(EngineCount.one)" == "1 engine")
    }
}
