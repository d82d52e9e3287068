/// Threads for work that may wait for long, such as for a disk, and that would block the pool's few threads or the engine's.
///
/// Threads are started as they are needed, up to ``maximumCount``; further work waits for one of them. A thread without work
/// waits a while for more, because starting one costs more than most reads.
///
/// Work may name its folder as its place. All work of a folder takes at most a quarter of the threads that the work of other folders
/// leaves: a disk that hangs must not hold up what needs other disks.
package enum BlockingThreadPool {
    /// The largest number of waiting threads in a process.
    package static var maximumCount: Int { 64 }

    private static let threads = BlockingThreads("trellis-block", limit: maximumCount)

    /// Runs `body` on a waiting thread, and returns its result.
    ///
    /// - Parameter place: The folder that the work needs, if any.
    package static func run<Value: Sendable>(
        at place: String? = nil, _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        let body = preservingHook(body)
        return await withContinuation { continuation in
            threads.add({ continuation.resume(returning: body()) }, at: place)
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
    ///
    /// - Parameter place: The folder that the work needs, if any.
    package static func trying<Value: Sendable, Failure: Error>(
        at place: String? = nil, _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await run(at: place) { () -> Result<Value, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }.get()
    }

    /// Runs `body`, which may fail, on a waiting thread; in a cancelled task without waiting for it.
    ///
    /// - Parameter place: The folder that the work needs, if any.
    /// - Throws: The error of `body`; `CancellationError` in a cancelled task, at once. `body` continues if it has begun, and its
    ///   result is dropped.
    package static func tryingUnlessCancelled<Value: Sendable>(
        at place: String? = nil, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await runUnlessCancelled(at: place) { Result { try body() } }.get()
    }

    /// Runs `body` on a waiting thread, and returns its result; in a cancelled task without waiting for it.
    ///
    /// - Parameter place: The folder that the work needs, if any.
    /// - Throws: `CancellationError` in a cancelled task, at once. `body` continues if it has begun, and its result is
    ///   dropped.
    package static func runUnlessCancelled<Value: Sendable>(
        at place: String? = nil, _ body: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let wait = CancellableWait<Value>()
        let body = preservingHook(body)
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation { continuation in
                guard wait.begin(continuation) else { return }
                threads.add({ if !wait.hasEnded { wait.end(.success(body())) } }, at: place)
            }
        } onCancel: {
            wait.end(.failure(CancellationError()))
        }
    }

    /// Waits until a task has ended; in a cancelled task returns at once, and the other task continues.
    package static func waitUnlessCancelled(for task: Task<Void, Never>) async {
        let wait = CancellableWait<Void>()
        try? await withTaskCancellationHandler {
            try await withThrowingContinuation { continuation in
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
    ///
    /// - Parameter place: The folder that the work needs, if any.
    package static func begin(at place: String? = nil, _ body: @escaping @Sendable () -> Void) {
        threads.add(body, at: place)
    }

    /// Starts `body` as ``begin(_:)`` does, with the calling task's ``FileOperationHook``.
    ///
    /// - Parameter place: The folder that the work needs, if any.
    package static func beginWithHook(at place: String? = nil, _ body: @escaping @Sendable () -> Void) {
        threads.add(preservingHook(body), at: place)
    }

    /// Runs `body` at once if the calling thread is one for work that may wait; otherwise starts it on such a thread, and does not wait for
    /// its end.
    ///
    /// - Parameter place: The folder that the work needs.
    static func runOrBegin(at place: String, _ body: @escaping @Sendable () -> Void) {
        if BlockingThreads.isCalling { body() } else { threads.add(preservingHook(body), at: place) }
    }
}

/// One wait for the result of a job, which the result or the task's cancellation ends, whichever is first.
private final class CancellableWait<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var hasEnded = false
    }

    private let state = Locked(State())

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

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
