import CurlEngine
import Testing

@testable import TrellisCore

/// The number of engines that get new requests.
struct EngineScalingTests {
    private var scaling = EngineScaling(EngineCount(initial: 1, maximum: 3))
    private var now = EngineInstant(nanoseconds: 1_000_000_000)
    /// The idle time of the processors so far; `nil` if it is not known.
    private var idleTime: Duration?

    /// Records the same sample of each engine a number of times. Returns the changes of the number.
    ///
    /// - Parameter idle: The number of idle processors.
    private mutating func sample(_ shares: [Double], times: Int, idle: Double = 1) -> [Int] {
        (0..<times).flatMap { _ in
            now = now.advanced(by: .milliseconds(100))
            idleTime? += .milliseconds(100) * idle
            return shares.indices.compactMap {
                let isNeeded = scaling.needsIdleTime(shares[$0], of: $0)
                return scaling.sample(shares[$0], of: $0, at: now, idleTime: isNeeded ? idleTime : nil)
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

    /// Without an idle processor, an engine would compete with the server or the application for one. The number of samples after which an
    /// engine is added.
    @Test(arguments: [(0, nil), (0.45, nil), (0.5, 9), (0.95, 9), (1, 3), (7, 3)] as [(Double, Int?)])
    mutating func anEngineIsAddedWhileHalfAProcessorIsIdle(_ idle: Double, _ count: Int?) {
        idleTime = .zero
        #expect(sample([1], times: (count ?? 100) - 1, idle: idle) == [])
        #expect(sample([1], times: 1, idle: idle) == (count == nil ? [] : [2]))
    }

    /// The maximum number of engines is 3.
    @Test mutating func theSecondOneNeedsIdleProcessorsToo() {
        idleTime = .zero
        #expect(sample([1, 1], times: 3, idle: 1) == [2])
        #expect(sample([1, 1], times: 30, idle: 0.4) == [])
        #expect(sample([1, 1], times: 3, idle: 1) == [3])
    }

    @Test mutating func aPeriodWithoutAnIdleProcessorBeginsAnew() {
        idleTime = .zero
        #expect(sample([1], times: 6, idle: 0.6) == [])
        #expect(sample([1], times: 3, idle: -0.5) == [], "the time that waits for a disk can become less")
        #expect(sample([1], times: 8, idle: 0.6) == [])
        #expect(sample([1], times: 1, idle: 0.6) == [2])
    }

    @Test mutating func aCalmSampleBetweenPeriodsBeginsAnew() {
        idleTime = .zero
        #expect(sample([1], times: 6, idle: 0.6) == [])
        #expect(sample([0.5], times: 1, idle: 0.6) == [])
        #expect(sample([1], times: 8, idle: 0.6) == [])
        #expect(sample([1], times: 1, idle: 0.6) == [2])
    }

    @Test mutating func theIdleTimeBeforeTheEngineWasBusyDoesNotCount() {
        idleTime = .zero
        for _ in 0..<2 {
            #expect(sample([0.5], times: 5, idle: 1) == [])
            #expect(sample([1], times: 3, idle: 0) == [])
        }
    }

    /// The system tells no time when there are no descriptors.
    @Test(arguments: [0, 2])
    mutating func anIdleTimeThatIsNotToldForOnceAddsNoEngine(_ failing: Int) {
        idleTime = .zero
        #expect(sample([1], times: 3, idle: 0) == [])
        for number in 0..<3 {
            let known = idleTime
            if number == failing { idleTime = nil }
            #expect(sample([1], times: 1, idle: 0) == [])
            idleTime = known
        }
        #expect(sample([1], times: 3, idle: 1) == [2])
    }

    @Test mutating func theIdleTimeIsNeededForTheFirstAndTheLastBusySample() {
        idleTime = .zero
        var needed: [Bool] = []
        for share in [0.5, 1, 1, 1, 1, 1, 1, 0.5] {
            needed.append(scaling.needsIdleTime(share, of: 0))
            _ = sample([share], times: 1, idle: 0)
        }
        #expect(needed == [false, true, false, true, true, false, true, false])
        #expect(!scaling.needsIdleTime(1, of: 1))
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

    /// A container may have a limit on its processor time.
    @Test(
        arguments: [
            (8, nil, 8), (8, 2, 2), (8, 1.5, 2), (8, 0.25, 1), (8, 16, 8), (8, 1e300, 8), (1, 4, 1), (0, nil, 1),
            (0, 0.5, 1),
        ] as [(Int, Double?, Int)])
    func theMaximumFollowsTheCoresAndTheLimit(_ cores: Int, _ limit: Double?, _ maximum: Int) {
        #expect(EngineCount.maximum(cores: cores, limit: limit) == maximum)
    }

    @Test func theNumberOfEnginesIsLimited() {
        #expect(EngineCount.fixed(0) == .one)
        #expect(EngineCount.fixed(3).maximum == 3)
        #expect("\(EngineCount(initial: 1, maximum: 8))" == "1 to 8 engines")
        #expect("\(EngineCount.one)" == "1 engine")
    }
}
