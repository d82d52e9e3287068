import Foundation
import Testing

@testable import CurlEngine

/// The time that processors have to spare, as the system reports it.
struct ProcessorTimeTests {
    private static let text = """
        cpu  1000 200 300 4000 500 60 70 8 9 10
        cpu0 600 150 100 1000 400 30 40 8 9 0
        cpu1 400 50 200 3000 100 30 30 0 0 10
        intr 123456 0 0 cpu2 7 7 7 7 7
        cpu3 7 7 7 7 7
        """

    private static func ticks(_ text: String, allowed: Set<Int>) -> UInt64? {
        ProcessorTime.spareTicks(in: Array(text.utf8), isAllowed: allowed.contains)
    }

    @Test(arguments: [([0, 1], 4_700), ([0], 1_550), ([1], 3_150), ([0, 1, 2, 3], 4_700)] as [([Int], UInt64)])
    func idleTimeAndTimeOfLowPriorityAreToSpare(_ allowed: [Int], _ ticks: UInt64) {
        #expect(Self.ticks(Self.text, allowed: Set(allowed)) == ticks)
    }

    @Test(arguments: [
        "", "cpu  1 2 3 4 5", "cpu5 1 2 3 4 5", "cpu0 0 0 0 0 0 0 0 0 0 0", "cpu0 1 2 3 4", "cpu0", "intr 5",
        "cpu99999999999999999999 1 2 3 4 5", "cpu- 1 2 3 4 5",
    ])
    func aSystemThatReportsNoTimesOfTheProcessorsIsNotKnown(_ text: String) {
        #expect(Self.ticks(text, allowed: [0]) == nil)
    }

    @Test func numbersBeyond64BitsDoNotTrap() {
        #expect(Self.ticks("cpu0 1 18446744073709551615 3 18446744073709551615 5 6", allowed: [0]) != nil)
        #expect(Self.ticks("cpu0 1 2 3 99999999999999999999 5", allowed: [0]) == 7)
    }

    /// The processors together cannot have had more time to spare than has passed on all of them.
    @Test func theTimeOfThisMachineGrowsWithItsClock() throws {
        let count = ProcessInfo.processInfo.activeProcessorCount
        let start = ContinuousClock.now
        let first = try #require(ProcessorTime.spare())
        #expect(first > .zero)
        while ContinuousClock.now < start + .milliseconds(50) { _ = ProcessorTime.spare() }
        let difference = try #require(ProcessorTime.spare()) - first
        // Each of the three times of a processor is rounded to 10 ms.
        #expect(difference <= (ContinuousClock.now - start + .milliseconds(30)) * count)
        #expect(difference >= .milliseconds(-30) * count)
    }
}
