import Testing
import TrellisTesting

@testable import CurlEngine

/// A delay on the engine's clock ends at its instant, with its task, or with the engine.
@Suite(.timeLimit(.minutes(3)))
struct EngineDelayTests {
    let clock = TestClock()
    let engine: EngineExecutor

    init() { engine = EngineExecutor(clock: clock.engineSide) }

    private func timerCount() async -> Int {
        await withContinuation { continuation in
            engine.submit { [engine] in continuation.resume(returning: engine.engineLoop.timerCount) }
        }
    }

    private func waitUntilTimers(count: Int) async { while await timerCount() != count {} }

    @Test func itEndsAtItsInstant() async throws {
        let wait = Task { [engine] in try await engine.delay(for: .seconds(10)) }
        await waitUntilTimers(count: 1)
        clock.advance(by: .seconds(10) - .nanoseconds(1))
        _ = await timerCount()
        #expect(await timerCount() == 1)
        clock.advance(by: .nanoseconds(1))
        #expect(try await wait.value)
        #expect(await timerCount() == 0)
        await engine.shutDown()
    }

    @Test func cancellingItsTaskEndsItAndTakesItsTimerAway() async throws {
        let wait = Task { [engine] in try await engine.delay(for: .seconds(10)) }
        await waitUntilTimers(count: 1)
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
        await waitUntilTimers(count: 0)
        await engine.shutDown()
    }

    @Test func aTaskThatIsCancelledAlreadyDoesNotWait() async throws {
        let wait = Task { [engine] in
            while !Task.isCancelled { await Task.yield() }
            return try await engine.delay(for: .seconds(10))
        }
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
        await waitUntilTimers(count: 0)
        await engine.shutDown()
    }

    @Test func theEndOfTheEngineEndsIt() async throws {
        let wait = Task { [engine] in try await engine.delay(for: .seconds(10)) }
        await waitUntilTimers(count: 1)
        await engine.shutDown()
        #expect(try await !wait.value)
    }

    @Test func afterTheEndOfTheEngineNothingWaits() async throws {
        _ = await timerCount()
        await engine.shutDown()
        #expect(try await !engine.delay(for: .seconds(10)))
    }
}
