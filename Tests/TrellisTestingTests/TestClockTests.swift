import Testing
import TrellisTesting

/// The test clock moves only when a test advances the clock.
@Suite(.timeLimit(.minutes(3)))
struct TestClockTests {
    @Test func itStandsStillUntilItIsMoved() {
        let clock = TestClock()
        let start = clock.now
        #expect(clock.now == start)
        clock.move(by: .seconds(90))
        #expect(start.duration(to: clock.now) == .seconds(90))
        #expect(clock.now == start.advanced(by: .seconds(90)))
        #expect(start < clock.now)
    }

    @Test func aSleeperWakesAtItsInstantAndNotBefore() async throws {
        let clock = TestClock()
        let woke = LoopbackServer.Gate()
        let deadline = clock.now.advanced(by: .seconds(10))
        let sleeper = Task {
            try await clock.sleep(until: deadline)
            #expect(clock.now >= deadline)
            woke.open()
        }
        clock.move(by: .seconds(10) - .nanoseconds(1))
        await Task.yield()
        #expect(!woke.isOpen)
        clock.move(by: .nanoseconds(1))
        try await sleeper.value
    }

    @Test func sleepingUntilThePastReturns() async throws {
        let clock = TestClock()
        clock.move(by: .seconds(1))
        try await clock.sleep(until: TestClock.Instant(elapsed: .zero))
    }

    @Test func aCancelledSleeperWakesWithAnError() async {
        let clock = TestClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
