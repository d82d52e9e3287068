import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// Counts of the events in a sliding window of time.
struct SlidingWindowTests {
    @Test func oldThingsAreForgottenStepByStep() {
        var window = SlidingWindow(length: .seconds(10))
        for second in 0..<20 { window.count(second.isMultiple(of: 2), at: .at(.seconds(second))) }
        #expect(window.total == 10)
        #expect(window.marked == 5)
        window.advance(to: .at(.milliseconds(22_999)))
        #expect(window.total == 7)
        #expect(window.marked == 3)
        window.advance(to: .at(.seconds(1_000_000)))
        #expect(window.total == 0)
        #expect(window.marked == 0)
    }

    @Test func theClockMayBeReadInAnotherOrder() {
        var window = SlidingWindow(length: .seconds(10))
        window.count(at: .at(.seconds(5)))
        window.count(at: .at(.seconds(3)))
        window.count(at: .at(.zero))
        #expect(window.total == 3)
        window.advance(to: .at(.seconds(15)))
        #expect(window.total == 0)
    }

    /// The counts equal those of a list of all instants.
    @Test(arguments: 0..<20)
    func itCountsWhatAListWould(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var window = SlidingWindow(length: .seconds(10))
        var all: [(second: Int, isMarked: Bool)] = []
        var second = 0
        for _ in 0..<500 {
            second += [0, 0, 0, 1, 2, 11].randomElement(using: &random) ?? 0
            let isMarked = Bool.random(using: &random)
            window.count(isMarked, at: .at(.seconds(second)))
            all.append((second, isMarked))
            let recent = all.filter { $0.second > second - 10 }
            #expect(window.total == recent.count)
            #expect(window.marked == recent.filter(\.isMarked).count)
        }
    }

    @Test(arguments: [.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.max)] as [Duration])
    func lengthsWithoutSenseDoNoHarm(_ length: Duration) {
        var window = SlidingWindow(length: length)
        window.count(true, at: .at(.seconds(Int64.max)))
        #expect(window.total == 1)
    }
}
