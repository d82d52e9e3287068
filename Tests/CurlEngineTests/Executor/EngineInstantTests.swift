import Testing

@testable import CurlEngine

/// The arithmetic of instants never overflows.
struct EngineInstantTests {
    @Test(
        arguments: [
            (0, .seconds(1), 1_000_000_000), (5, .nanoseconds(3), 8), (5, .zero, 5), (5, .seconds(-1), 5),
            (.max, .seconds(1), .max), (5, .seconds(Int64.max), .max), (5, .nanoseconds(-1), 5),
        ] as [(UInt64, Duration, UInt64)])
    func advancing(_ start: UInt64, _ duration: Duration, _ end: UInt64) {
        #expect(EngineInstant(nanoseconds: start).advanced(by: duration).nanoseconds == end)
    }

    @Test(arguments: [(10, 3, 7), (3, 10, 0), (.max, 0, .max)] as [(UInt64, UInt64, Int64)])
    func theTimeSinceAnEarlierInstant(_ later: UInt64, _ earlier: UInt64, _ difference: Int64) {
        #expect(EngineInstant(nanoseconds: later).nanoseconds(since: .init(nanoseconds: earlier)) == difference)
    }

    @Test(
        arguments: [
            (.zero, 0), (.milliseconds(1), 1_000_000), (.seconds(-3), 0),
            (.seconds(18_446_744_073), 18_446_744_073_000_000_000),
            (.seconds(18_446_744_074), .max), (.nanoseconds(1), 1),
            (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
            (.seconds(18_446_744_073) + .milliseconds(999), .max),
        ] as [(Duration, UInt64)])
    func wholeNanosecondsAreClamped(_ duration: Duration, _ nanoseconds: UInt64) {
        #expect(duration.clampedNanoseconds == nanoseconds)
    }
}
