import Foundation
import Glibc
import Testing

@testable import CurlEngine

/// Calls that may block run on threads of their own.
@Suite(.timeLimit(.minutes(3)))
struct BlockingThreadPoolTests {
    /// The largest number of threads for one folder.
    private static let maximumCountOfPlace = BlockingThreadPool.maximumCount / 4

    /// A gate that opens when all threads have arrived.
    private final class Gate: Sendable {
        private let missing: Locked<Int>

        init(_ count: Int) { missing = Locked(count) }

        func pass() {
            missing.withLock { $0 -= 1 }
            while missing.withLock({ $0 > 0 }) { sched_yield() }
        }
    }

    @Test func allThreadsCanWaitAtTheSameTime() async {
        let gate = Gate(BlockingThreadPool.maximumCount)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<BlockingThreadPool.maximumCount {
                group.addTask { await BlockingThreadPool.run { gate.pass() } }
            }
        }
    }

    @Test func furtherWorkHasItsTurn() async {
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<2000 { group.addTask { await BlockingThreadPool.run { number } } }
            return await group.reduce(0, +)
        }
        #expect(sum == 1999 * 1000)
        // The calls are made one after the other, so that a thread mostly already exists.
        for number in 0..<2000 { #expect(await BlockingThreadPool.run { number } == number) }
    }

    /// A disk that hangs keeps no more than its share of the threads, however many calls need it, and whoever leaves does not wait.
    @Test func theWorkOfOnePlaceLeavesThreadsForOthers() async throws {
        let place = "/hangs/\(UUID().uuidString)"
        let (begun, gate) = (Locked(0), Locked(false))
        let body: @Sendable () -> Void = {
            begun.withLock { $0 += 1 }
            while !gate.withLock({ $0 }) { sched_yield() }
        }
        let count = BlockingThreadPool.maximumCount
        let waiting = (0..<count).map { _ in Task { await BlockingThreadPool.run(at: place, body) } }
        let leaving = (0..<count).map { _ in
            Task { try await BlockingThreadPool.tryingUnlessCancelled(at: place, body) }
        }
        while begun.withLock({ $0 }) < Self.maximumCountOfPlace, !Task.isCancelled { await Task.yield() }
        for number in 0..<count {
            #expect(await BlockingThreadPool.run { number } == number)
            #expect(await BlockingThreadPool.run(at: place + "/other") { number } == number)
        }
        for task in leaving {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(begun.withLock { $0 } == Self.maximumCountOfPlace)
        gate.withLock { $0 = true }
        for task in waiting { await task.value }
        // What nobody waits for any more has not begun, and the place has its threads again.
        #expect(begun.withLock { $0 } <= count + Self.maximumCountOfPlace)
        #expect(await BlockingThreadPool.run(at: place) { 1 } == 1)
    }

    /// So it is with the tasks of one folder.
    @Test func theTasksOfOneFolderLeaveThreadsForOthers() async {
        let folder = "/hangs/\(UUID().uuidString)"
        let (begun, gate) = (Locked(0), Locked(false))
        let count = BlockingThreadPool.maximumCount
        let waiting = (0..<count).map { _ in
            Task(executorPreference: BlockingExecutor.disk(at: folder)) {
                begun.withLock { $0 += 1 }
                while !gate.withLock({ $0 }) { sched_yield() }
            }
        }
        while begun.withLock({ $0 }) < Self.maximumCountOfPlace, !Task.isCancelled { await Task.yield() }
        for number in 0..<count {
            let (disk, other) = (BlockingExecutor.disk, BlockingExecutor.disk(at: folder + "/other"))
            #expect(await Task(executorPreference: disk) { number }.value == number)
            #expect(await Task(executorPreference: other) { number }.value == number)
        }
        #expect(begun.withLock { $0 } == Self.maximumCountOfPlace)
        gate.withLock { $0 = true }
        for task in waiting { await task.value }
        #expect(begun.withLock { $0 } == count)
    }

    /// Many folders may be on one disk that hangs.
    @Test func theWorkOfManyPlacesLeavesThreadsForOthers() async {
        let (begun, gate) = (Locked(0), Locked(false))
        let threads = BlockingThreads("test-block", limit: 16)
        let expected = 4 + 3 + 2 + 1 + 1 + 1 + 1 + 1
        for place in 0..<64 {
            for _ in 0..<8 {
                threads.add(
                    {
                        begun.withLock { $0 += 1 }
                        while !gate.withLock({ $0 }) { sched_yield() }
                    }, at: "/hangs/\(place)")
            }
        }
        while begun.withLock({ $0 }) < expected, !Task.isCancelled { await Task.yield() }
        for _ in 0..<64 { await withContinuation { done in threads.add { done.resume(returning: ()) } } }
        #expect(begun.withLock { $0 } == expected)
        gate.withLock { $0 = true }
        while begun.withLock({ $0 }) < 64 * 8, !Task.isCancelled { await Task.yield() }
        await withContinuation { done in threads.add({ done.resume(returning: ()) }, at: "/hangs/0") }
    }

    /// Four folders on a disk that hangs leave threads for a fifth one.
    @Test func aFurtherPlaceHasAThread() async {
        let (begun, gate) = (Locked(0), Locked(false))
        let threads = BlockingThreads("test-block", limit: 16)
        for place in 0..<4 {
            for _ in 0..<8 {
                threads.add(
                    {
                        begun.withLock { $0 += 1 }
                        while !gate.withLock({ $0 }) { sched_yield() }
                    }, at: "/hangs/\(place)")
            }
        }
        while begun.withLock({ $0 }) < 4 + 3 + 2 + 1, !Task.isCancelled { await Task.yield() }
        for _ in 0..<8 { await withContinuation { done in threads.add({ done.resume(returning: ()) }, at: "/works") } }
        gate.withLock { $0 = true }
        while begun.withLock({ $0 }) < 4 * 8, !Task.isCancelled { await Task.yield() }
    }

    /// No place waits until others have nothing more to do, and the jobs of a place begin in their order.
    @Test func waitingPlacesTakeTurns() async {
        let (begun, gate) = (Locked([String]()), Locked(false))
        let threads = BlockingThreads("test-block", limit: 1)
        for job in ["a1", "a2", "a3", "b1", "b2", "c1"] {
            threads.add(
                {
                    begun.withLock { $0.append(job) }
                    while !gate.withLock({ $0 }) { sched_yield() }
                }, at: String(job.prefix(1)))
        }
        gate.withLock { $0 = true }
        while begun.withLock({ $0.count }) < 6, !Task.isCancelled { await Task.yield() }
        #expect(begun.withLock { $0 } == ["a1", "a2", "b1", "c1", "a3", "b2"])
    }

    @Test func aFailureIsThrown() async {
        let failure = FileError(reason: "gone")
        await #expect(throws: failure) {
            try await BlockingThreadPool.trying { () throws(FileError) -> Int in throw failure }
        }
    }

    @Test func itIsNeitherThePoolNorAnEngine() async {
        let engine = EngineExecutor()
        await Task(executorPreference: engine) {
            #expect(CallingThread.isEngine)
            #expect(await BlockingThreadPool.run { CallingThread.isEngine } == false)
            #expect(CallingThread.isEngine)
        }.value
        await engine.shutDown()
    }

    /// The name of the calling thread.
    private static var threadName: String {
        let text = FileManager.default.contents(atPath: "/proc/thread-self/comm") ?? Data()
        return String(decoding: text.dropLast(), as: UTF8.self)
    }

    /// The threads of the two pools can be distinguished in a debugger.
    @Test func theThreadsAreNamedForTheirPool() async {
        #expect(await BlockingThreadPool.run { Self.threadName } == "trellis-block")
        let name = await Task(executorPreference: BlockingExecutor.disk) { Self.threadName }.value
        #expect(name == "trellis-disk")
    }
}
