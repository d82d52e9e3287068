import Synchronization
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
        clock.move(by: .seconds(10) - .nanoseconds(1))
        _ = await timerCount()
        #expect(await timerCount() == 1)
        clock.move(by: .nanoseconds(1))
        #expect(try await wait.value)
        #expect(await timerCount() == 0)
        await engine.shutDown()
    }

    /// The time of a delay begins with the call, although the engine thread is busy.
    @Test func itsTimeBeginsWithTheCall() async throws {
        let counting = CountingClock(clock.engineSide)
        let engine = EngineExecutor(clock: counting)
        let released = Flag()
        await withContinuation { continuation in
            engine.submit {
                continuation.resume()
                while !released.isSet {}
            }
        }
        let before = counting.count
        let wait = Task { [engine] in try await engine.delay(for: .seconds(10)) }
        // The engine thread is held, so it is the call that reads the clock.
        while counting.count == before, !Task.isCancelled { await Task.yield() }
        clock.move(by: .seconds(10))
        released.set()
        #expect(try await wait.value)
        await engine.shutDown()
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    /// A clock that counts how often it is read.
    private final class CountingClock: EngineClock {
        private let clock: any EngineClock
        private let reads = Atomic(0)

        init(_ clock: any EngineClock) { self.clock = clock }

        var count: Int { reads.load(ordering: .relaxed) }

        func now() -> EngineInstant {
            defer { reads.add(1, ordering: .relaxed) }
            return clock.now()
        }

        func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
            clock.sleep(until: deadline, from: now)
        }

        func onAdvance(_ wake: @escaping @Sendable () -> Void) { clock.onAdvance(wake) }
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

    /// A task that is cancelled just as its wait begins: the clock learns of the beginning before the end.
    @Test func theClockLearnsOfTheBeginningFirst() async throws {
        let cancelling = CancellingClock(clock.engineSide)
        let engine = EngineExecutor(clock: cancelling)
        let isKnown = LoopbackServer.Gate()
        let wait = Task {
            try? await isKnown.opened()
            return try await engine.delay(for: .seconds(10))
        }
        cancelling.task.withLock { $0 = wait }
        isKnown.open()
        await #expect(throws: CancellationError.self) { try await wait.value }
        await engine.shutDown()
        #expect(cancelling.notes.withLock { $0 } == [true, false])
    }

    /// A clock that cancels a task when its wait begins.
    private final class CancellingClock: EngineClock {
        let task = Locked<Task<Bool, any Error>?>(nil)
        /// What the clock has learned, in order: whether a wait began.
        let notes = Locked<[Bool]>([])
        private let clock: any EngineClock

        init(_ clock: any EngineClock) { self.clock = clock }

        func now() -> EngineInstant { clock.now() }

        func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
            clock.sleep(until: deadline, from: now)
        }

        func onAdvance(_ wake: @escaping @Sendable () -> Void) { clock.onAdvance(wake) }

        func noteWait(of call: (any AnyObject & Sendable)?, isLimit: Bool, begins: Bool) {
            if begins { task.withLock { $0 }?.cancel() }
            notes.withLock { $0.append(begins) }
        }
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
