import CurlEngine
import Testing

@testable import Trellis

/// The number of engines that get new requests.
struct EngineScalingTests {
    private var scaling = EngineScaling(EngineCount(initial: 1, maximum: 3))
    private var now = EngineInstant(nanoseconds: 1_000_000_000)
    /// The time that the processors have had to spare so far; `nil` if it is not known.
    private var spareTime: Duration?

    /// Records the same sample of each engine a number of times. Returns the changes of the number.
    ///
    /// - Parameter spare: The number of processors that have time to spare.
    private mutating func sample(_ shares: [Double], times: Int, spare: Double = 1) -> [Int] {
        (0..<times).flatMap { _ in
            now = now.advanced(by: .milliseconds(100))
            spareTime? += .milliseconds(100) * spare
            return shares.indices.compactMap {
                scaling.sample(shares[$0], of: $0, at: now, spareTime: { [spareTime] in spareTime })
            }
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

    /// An engine that takes its time from the server or the application serves no more requests.
    @Test(arguments: [(0, false), (0.45, false), (0.5, true), (1, true)])
    mutating func anEngineIsAddedWhileHalfAProcessorIsToSpare(_ spare: Double, _ isAdded: Bool) {
        spareTime = .zero
        #expect(sample([1], times: 3, spare: spare) == (isAdded ? [2] : []))
        #expect(sample([1], times: 30, spare: spare) == [])
    }

    @Test mutating func afterSamplesWithoutTimeToSpareThreeOthersAreNeeded() {
        spareTime = .zero
        #expect(sample([1], times: 2, spare: 1) == [])
        #expect(sample([1], times: 1, spare: -0.5) == [], "the time that waits for a disk can become less")
        #expect(sample([1], times: 2, spare: 1) == [])
        #expect(sample([1], times: 1, spare: 1) == [2])
    }

    @Test mutating func theTimeThatWasToSpareBeforeTheEngineWasBusyDoesNotCount() {
        spareTime = .zero
        #expect(sample([0.5], times: 5, spare: 1) == [])
        #expect(sample([1], times: 3, spare: 0) == [])
        #expect(sample([0.5], times: 5, spare: 1) == [])
        #expect(sample([1], times: 3, spare: 0) == [])
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
