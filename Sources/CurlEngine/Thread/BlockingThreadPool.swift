private import CCurl

/// Threads for work that may wait for long, such as for a disk, and that would block the pool's few threads or the engine's.
///
/// Threads are started as they are needed, up to ``maximumCount``; further work waits for one of them. A thread without work
/// waits a while for more, because starting one costs more than most reads.
package enum BlockingThreadPool {
    /// The largest number of waiting threads in a process.
    package static var maximumCount: Int { 64 }

    private static let crew = BlockingThreads()

    /// Runs `body` on a waiting thread, and returns its result.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let body = preservingHook(body)
        return await withCheckedContinuation { continuation in
            crew.add { continuation.resume(returning: body()) }
        }
    }

    /// Returns a body that runs with the calling task's ``FileOperationHook``: a thread of the pool has no task-local values.
    private static func preservingHook<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) -> @Sendable () -> Value {
        guard let handler = FileOperationHook.handler else { return body }
        return { FileOperationHook.$handler.withValue(handler) { body() } }
    }

    /// Runs `body`, which may fail, on a waiting thread.
    package static func trying<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await run { () -> Result<Value, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }.get()
    }

    /// Runs `body` on a waiting thread, and returns its result; in a cancelled task without waiting for it.
    ///
    /// - Throws: `CancellationError` in a cancelled task, at once. `body` continues, and its result is dropped.
    package static func runUnlessCancelled<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let wait = CancellableWait<Value>()
        let body = preservingHook(body)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard wait.begin(continuation) else { return }
                crew.add { wait.end(.success(body())) }
            }
        } onCancel: {
            wait.end(.failure(CancellationError()))
        }
    }

    /// Waits until a task has ended; in a cancelled task returns at once, and the other task continues.
    package static func waitUnlessCancelled(for task: Task<Void, Never>) async {
        let wait = CancellableWait<Void>()
        try? await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard wait.begin(continuation) else { return }
                Task {
                    await task.value
                    wait.end(.success(()))
                }
            }
        } onCancel: {
            wait.end(.failure(CancellationError()))
        }
    }

    /// Starts `body` on a waiting thread, and does not wait for its end.
    static func begin(_ body: @escaping @Sendable () -> Void) { crew.add(body) }
}

/// One wait for the result of a job, which the result or the task's cancellation ends, whichever is first.
private final class CancellableWait<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var hasEnded = false
    }

    private let state = Locked(State())

    /// Returns `false`, and resumes the continuation, if the cancellation was first.
    func begin(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.continuation = continuation }
            return state.hasEnded
        }
        if hasEnded { continuation.resume(throwing: CancellationError()) }
        return !hasEnded
    }

    func end(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state in
            state.hasEnded = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }
}

/// The threads of ``BlockingThreadPool``, and the jobs that wait for one of them.
private final class BlockingThreads: Sendable {
    /// The time for which a thread waits for another job, in milliseconds.
    private static let patience: UInt32 = 5000

    private struct State {
        /// The jobs in the order of their arrival; the jobs before `first` have begun.
        var jobs: [(@Sendable () -> Void)?] = []
        var first = 0
        /// The number of threads.
        var threads = 0
        /// The number of threads that wait for a job and have not been woken.
        var idle = 0

        mutating func next() -> (@Sendable () -> Void)? {
            guard first < jobs.count else { return nil }
            defer { jobs[first] = nil; first += 1; if first == jobs.count { (jobs, first) = ([], 0) } }
            return jobs[first]
        }
    }

    /// The step that remains after a job was added.
    private enum RequiredAction { case nothing, wake, start }

    private let state = Locked(State())
    private let bell = ThreadSemaphore()

    func add(_ job: @escaping @Sendable () -> Void) {
        let duty = state.withLock { state -> RequiredAction in
            state.jobs.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < BlockingThreadPool.maximumCount else { return .nothing }
            state.threads += 1
            return .start
        }
        switch duty {
        case .nothing: break
        case .wake: bell.ring()
        case .start: start()
        }
    }

    private func start() {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe ccurl_thread_start(
            "trellis-block", { context in unsafe BlockingThreads.work(context) }, context.toOpaque())
        guard code != 0 else { return }
        unsafe context.release()
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        // The system refuses to start a thread, so that the jobs run here.
        if isAlone { workOff() }
    }

    private static func work(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        let crew = unsafe Unmanaged<BlockingThreads>.fromOpaque(context).takeRetainedValue()
        repeat { crew.workOff() } while crew.waitForMore()
    }

    private func workOff() {
        while let job = state.withLock({ $0.next() }) { job() }
    }

    /// Waits for another job. Returns `false` if the thread is not needed any more.
    private func waitForMore() -> Bool {
        let mayWait = state.withLock { state in
            if state.first < state.jobs.count { return false }
            state.idle += 1
            return true
        }
        guard mayWait, !bell.wait(milliseconds: Self.patience) else { return true }
        let mayEnd = state.withLock { state in
            guard state.idle > 0 else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
        // The thread has been woken at the last moment.
        if !mayEnd { while !bell.wait(milliseconds: Self.patience) {} }
        return !mayEnd
    }
}

/// A semaphore that wakes one waiting thread at a time (`sem_t`).
@safe
private final class ThreadSemaphore: @unchecked Sendable {
    // Unchecked: the semaphore is made for several threads, and the pointer never changes.
    private let semaphore: UnsafeMutableRawPointer

    init() { unsafe semaphore = ccurl_semaphore_create() }

    deinit { unsafe ccurl_semaphore_destroy(semaphore) }

    func ring() { unsafe ccurl_semaphore_post(semaphore) }

    /// Waits until a ring arrives. Returns `false` if none has arrived after `milliseconds`.
    func wait(milliseconds: UInt32) -> Bool { unsafe ccurl_semaphore_wait(semaphore, milliseconds) }
}
