import Dispatch
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// The engine thread is an executor, which runs calls and actors one at a time and in order.
@Suite(.timeLimit(.minutes(3)))
struct EngineExecutorTests {
    /// Submits a call, and waits until the call has run.
    static func passThrough(_ engine: EngineExecutor) async {
        await withContinuation { continuation in engine.submit { continuation.resume() } }
    }

    /// An actor whose executor is the engine.
    private actor LoopActor: EngineActor {
        nonisolated let executor: EngineExecutor
        nonisolated let executorReference: ExecutorReference
        private(set) var notes: [Int] = []
        init(_ executor: EngineExecutor) {
            self.executor = executor
            executorReference = executor.executorReference
        }
        func note(_ number: Int) { notes.append(number) }
        var isAtHome: Bool { executor.isCurrent }
    }

    /// A request may be the first job, before the first turn: what it watches is watched.
    @Test func theFirstJobMayWatchASocket() async throws {
        let pair = try LoopbackPair()
        for _ in 0..<20 {
            let engine = EngineExecutor()
            let isWatched = await withContinuation { continuation in
                engine.submit {
                    let loop = engine.engineLoop
                    continuation.resume(returning: loop.watch(pair.client, generation: 0, for: .read))
                    _ = loop.watch(pair.client, generation: 0, for: [])
                }
            }
            #expect(isWatched)
            await engine.shutDown()
        }
    }

    /// Calls that are made while the thread starts do not wait for later calls.
    @Test func callsThatComeWhileTheThreadStartsAreNotLeftBehind() async {
        for _ in 0..<200 {
            let engine = EngineExecutor()
            await withTaskGroup { group in
                for _ in 0..<16 { group.addTask { await Self.passThrough(engine) } }
            }
            await engine.shutDown()
        }
    }

    /// The task continues as late work.
    @Test func aTaskThatYieldsForEverDoesNotKeepTheExecutorFromEnding() async {
        let engine = EngineExecutor()
        let hasEnded = Locked(false)
        let task = Task(executorPreference: engine) {
            var turns = 0
            while !Task.isCancelled {
                await Task.yield()
                if hasEnded.withLock({ $0 }) { turns += 1 }
            }
            return turns
        }
        await engine.shutDown()
        hasEnded.withLock { $0 = true }
        for _ in 0..<10 { await Self.passThrough(engine) }
        task.cancel()
        #expect(await task.value > 0)
    }

    /// The release of late work may itself add work.
    @Test func lateWorkReleasesItsObjectsWithoutTheLock() async {
        final class Last: Sendable {
            let engine: EngineExecutor
            let whenReleased: @Sendable () -> Void
            init(_ engine: EngineExecutor, _ whenReleased: @escaping @Sendable () -> Void) {
                (self.engine, self.whenReleased) = (engine, whenReleased)
            }
            deinit { engine.submit(whenReleased) }
        }
        let engine = EngineExecutor()
        await Self.passThrough(engine)
        await engine.shutDown()
        await withContinuation { continuation in
            let last = Last(engine) { continuation.resume() }
            engine.submit { withExtendedLifetime(last) {} }
        }
        await Self.passThrough(engine)
    }

    @Test func callsRunInTheOrderOfTheirComingOnOneThread() async {
        let engine = EngineExecutor()
        let seen = Locked<[(number: Int, thread: UInt)]>([])
        for number in 0..<1000 {
            engine.submit { seen.withLock { $0.append((number, CurrentThread.identifier)) } }
        }
        await engine.shutDown()
        let all = seen.withLock { $0 }
        #expect(all.map(\.number) == Array(0..<1000))
        #expect(Set(all.map(\.thread)).count == 1)
    }

    @Test func callsOfManyThreadsAllRunOneAtATime() async {
        let engine = EngineExecutor()
        let count = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { for _ in 0..<200 { engine.submit { count.value += 1 } } }
            }
        }
        await engine.shutDown()
        #expect(count.value == 10_000)
    }

    /// A counter that is accessed only on the engine thread, until the thread has ended.
    private final class Counter: @unchecked Sendable {
        var value = 0
    }

    @Test func anActorLivesThere() async {
        let engine = EngineExecutor()
        let resident = LoopActor(engine)
        for number in 0..<100 { await resident.note(number) }
        #expect(await resident.notes == Array(0..<100))
        #expect(await resident.isAtHome)
        await engine.shutDown()
    }

    @Test func anActorIsEnteredInTheOrderOfTheCalls() async {
        let engine = EngineExecutor()
        let resident = LoopActor(engine)
        for number in 0..<100 { resident.submit { $0.note(number) } }
        #expect(await resident.notes == Array(0..<100))
        await engine.shutDown()
    }

    // MARK: Shutdown

    @Test func whatWasQueuedBeforeTheEndRuns() async {
        let engine = EngineExecutor()
        let count = Locked(0)
        for _ in 0..<100 { engine.submit { count.withLock { $0 += 1 } } }
        await engine.shutDown()
        #expect(count.withLock { $0 } == 100)
    }

    @Test func workAfterTheEndStillRunsInOrder() async {
        let engine = EngineExecutor()
        await Self.passThrough(engine)
        await engine.shutDown()
        let seen = Locked<[Int]>([])
        for number in 0..<100 { engine.submit { seen.withLock { $0.append(number) } } }
        await Self.passThrough(engine)
        #expect(seen.withLock { $0 } == Array(0..<100))
    }

    @Test func anActorWhoseThreadHasEndedStillAnswers() async {
        let engine = EngineExecutor()
        let resident = LoopActor(engine)
        await engine.shutDown()
        await resident.note(1)
        #expect(await resident.notes == [1])
        #expect(await resident.isAtHome)
    }

    @Test func endingOneThatNeverRanReturns() async {
        let engine = EngineExecutor()
        await engine.shutDown()
        await engine.shutDown()
        await Self.passThrough(engine)
    }

    @Test func endingTwiceReturnsTwice() async {
        let engine = EngineExecutor()
        await Self.passThrough(engine)
        async let first: Void = engine.shutDown()
        async let second: Void = engine.shutDown()
        _ = await (first, second)
    }

    // MARK: Timers

    /// A target that counts the number of times that its timer has fired.
    private final class Target: EngineTimerTarget, Sendable {
        let fired = Locked(0)
        func timerIsDue() { fired.withLock { $0 += 1 } }
    }

    @Test func aTimerFiresWhenTheClockIsMovedToItAndOnce() async {
        let clock = TestClock()
        let engine = EngineExecutor(clock: clock.engineSide)
        let target = Target()
        await withContinuation { continuation in
            engine.submit {
                engine.engineLoop.set(EngineTimer(target), at: engine.engineLoop.now.advanced(by: .seconds(10)))
                continuation.resume()
            }
        }
        for (step, count) in [(Duration.seconds(10) - .nanoseconds(1), 0), (.nanoseconds(1), 1), (.seconds(100), 1)] {
            clock.move(by: step)
            for _ in 0..<3 { await Self.passThrough(engine) }
            #expect(target.fired.withLock { $0 } == count)
        }
        await engine.shutDown()
    }

    @Test func aDiscardedTimerIsLentToAnotherOwnerWithoutItsDeadline() async {
        let clock = TestClock()
        let engine = EngineExecutor(clock: clock.engineSide)
        let (first, second) = (Target(), Target())
        let isLent = await withContinuation { continuation in
            engine.submit {
                let loop = engine.engineLoop
                let timer = loop.makeTimer(first)
                loop.set(timer, at: loop.now.advanced(by: .seconds(1)))
                loop.discard(timer)
                let next = loop.makeTimer(second)
                let isFree = next.deadline == nil
                loop.set(next, at: loop.now.advanced(by: .seconds(2)))
                continuation.resume(returning: next === timer && isFree)
            }
        }
        #expect(isLent)
        for count in [0, 1, 1] {
            clock.move(by: .seconds(1))
            for _ in 0..<3 { await Self.passThrough(engine) }
            #expect(second.fired.withLock { $0 } == count)
        }
        #expect(first.fired.withLock { $0 } == 0)
        await engine.shutDown()
    }

    @Test func aTimerOfTheSystemsClockFires() async {
        let engine = EngineExecutor()
        await withContinuation { continuation in
            final class Resumer: EngineTimerTarget, Sendable {
                let continuation: CheckedContinuation<Void, Never>
                init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
                func timerIsDue() { continuation.resume() }
            }
            let resumer = Resumer(continuation)
            engine.submit {
                engine.engineLoop.set(EngineTimer(resumer), at: engine.engineLoop.now.advanced(by: .milliseconds(5)))
            }
        }
        await engine.shutDown()
    }

    /// The system refuses threads while a process or container has as many as it may have.
    @Test func aThreadThatTheSystemRefusesIsStartedLater() async {
        let refusals = Locked(0)
        let wasRefused = Locked<[Bool]>([])
        let engine = EngineExecutor(clock: MonotonicClock.system) { executor, body in
            let isRefused = refusals.withLock { count in
                count += 1
                return count <= 2
            }
            wasRefused.withLock { $0.append(executor.isRefused) }
            return isRefused ? 11 : EngineThread.start(for: executor, body)
        }
        await Self.passThrough(engine)
        #expect(refusals.withLock { $0 } == 3)
        // Requests avoid the engine until its thread has started.
        #expect(wasRefused.withLock { $0 } == [false, true, true])
        #expect(!engine.isRefused)
        await engine.shutDown()
    }

    @Test func aTurnLastsUntilTheThreadSleeps() async {
        let engine = EngineExecutor()
        let mayEnd = DispatchSemaphore(value: 0)
        engine.submit { mayEnd.waitForTest() }
        while engine.meter.turnTime < .milliseconds(1), !Task.isCancelled { await Task.yield() }
        mayEnd.signal()
        while engine.meter.turnTime > .zero, !Task.isCancelled { await Task.yield() }
        await engine.shutDown()
        #expect(engine.meter.turnTime == .zero)
    }
}
