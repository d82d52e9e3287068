import Testing
import TrellisTesting

@testable import CurlEngine

/// An alarm makes one call at its instant, unless it is cancelled or its engine ends before.
@Suite(.timeLimit(.minutes(3)))
struct EngineAlarmTests {
    private let clock = TestClock()
    private let engine: EngineExecutor
    private let calls = Locked(0)

    init() { engine = EngineExecutor(clock: clock.engineSide) }

    private func alarm(in duration: Duration) -> EngineAlarm {
        EngineAlarm(on: engine, at: clock.engineSide.now().advanced(by: duration)) { [calls] in
            calls.withLock { $0 += 1 }
        }
    }

    private func timerCount() async -> Int {
        await withContinuation { continuation in
            engine.submit { [engine] in continuation.resume(returning: engine.engineLoop.timerCount) }
        }
    }

    private func waitUntilTimers(count: Int) async { while await timerCount() != count {} }

    private var callCount: Int { calls.withLock { $0 } }

    @Test func itMakesOneCallAtItsInstant() async {
        let alarm = alarm(in: .seconds(10))
        await waitUntilTimers(count: 1)
        clock.move(by: .seconds(10) - .nanoseconds(1))
        _ = await timerCount()
        #expect(await timerCount() == 1 && callCount == 0)
        clock.move(by: .nanoseconds(1))
        await waitUntilTimers(count: 0)
        #expect(callCount == 1)
        clock.move(by: .seconds(100))
        _ = await timerCount()
        #expect(await timerCount() == 0 && callCount == 1)
        alarm.cancel()
        await engine.shutDown()
    }

    @Test func aCancelledOneMakesNoCallAndHasNoTimer() async {
        let alarm = alarm(in: .seconds(10))
        await waitUntilTimers(count: 1)
        alarm.cancel()
        #expect(await timerCount() == 0)
        clock.move(by: .seconds(20))
        _ = await timerCount()
        #expect(await timerCount() == 0 && callCount == 0)
        await engine.shutDown()
    }

    @Test func theEndOfTheEngineReleasesIt() async {
        weak var released: EngineAlarm?
        do {
            let alarm = alarm(in: .seconds(10))
            released = alarm
            await waitUntilTimers(count: 1)
            await engine.shutDown()
        }
        #expect(released == nil && callCount == 0)
    }
}
