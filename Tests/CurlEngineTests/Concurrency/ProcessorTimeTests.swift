import Foundation
import Testing

@testable import CurlEngine

/// The idle time of processors, as the system reports it.
struct ProcessorTimeTests {
    private static let text = """
        cpu  1000 200 300 4000 500 60 70 8 9 10
        cpu0 600 150 100 1000 400 30 40 8 9 0
        cpu1 400 50 200 3000 100 30 30 0 0 10
        intr 123456 0 0 cpu2 7 7 7 7 7
        cpu3 7 7 7 7 7
        """

    private static func ticks(_ text: String, allowed: Set<Int>, countsNice: Bool = true) -> UInt64? {
        ProcessorTime.idleTicks(in: Array(text.utf8), countsNice: countsNice, isAllowed: allowed.contains)
    }

    @Test(arguments: [([0, 1], 4_700), ([0], 1_550), ([1], 3_150), ([0, 1, 2, 3], 4_700)] as [([Int], UInt64)])
    func timeOfLowPriorityCountsAsIdle(_ allowed: [Int], _ ticks: UInt64) {
        #expect(Self.ticks(Self.text, allowed: Set(allowed)) == ticks)
    }

    /// A thread of low priority has to share a processor with other work of low priority.
    @Test func timeOfLowPriorityDoesNotCountForAThreadOfLowPriority() {
        #expect(Self.ticks(Self.text, allowed: [0, 1], countsNice: false) == 4_500)
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

    /// The idle time of all processors of this machine, read in another way, in seconds.
    private static func idleSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/stat", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("cpu ") })
        let times = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        return (times[1] + times[3] + times[4]) / 100
    }

    /// Whether this process may run on all processors of the machine.
    private static var mayRunEverywhere: Bool {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let mask = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") } ?? ""
        // The last digit is that of the first four processors.
        let digits = mask.dropFirst(13).compactMap(\.hexDigitValue).reversed() as [Int]
        let machine = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        let processors = machine.split(separator: "\n").filter { $0.hasPrefix("cpu") }
            .compactMap { Int($0.dropFirst(3).prefix { $0 != " " }) }
        return processors.allSatisfy { $0 / 4 < digits.count && digits[$0 / 4] >> ($0 % 4) & 1 == 1 }
    }

    @Test(.enabled(if: mayRunEverywhere, "the process may not run on all processors"))
    func theTimeOfThisMachineIsRead() throws {
        let before = try Self.idleSeconds()
        let time = try #require(ProcessorTime.idle()) / .seconds(1)
        let after = try Self.idleSeconds()
        // The time that waits for a disk can become less.
        #expect(before > 1 && before - 1 <= time && time <= after + 1)
    }
}
