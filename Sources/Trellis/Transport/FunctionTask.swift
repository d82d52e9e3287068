import CurlEngine

/// A task for a function, whose waiter leaves when its own task is cancelled, even if the function does not return.
final class FunctionTask<Value: Sendable>: Sendable {
    private struct State {
        /// The waiter; `nil` before it waits, and after it was resumed.
        var reply: Reply<Value>?
        var task: Task<Void, Never>?
    }

    private let state = Locked(State())

    private init() {}

    /// Returns the result of a function.
    ///
    /// - Throws: The error of the function; `CancellationError` as soon as the calling task is cancelled.
    static func value(of function: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let work = FunctionTask()
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                work.begin(function, reply)
                // The task may have been cancelled before there was a waiter.
                if Task.isCancelled { work.cancel() }
            }
        } onCancel: {
            work.cancel()
        }
    }

    /// Returns the result of a function; `nil` if it has not returned after a time. The function is cancelled then, and is not waited for.
    ///
    /// - Throws: The error of the function; `CancellationError` as soon as the calling task is cancelled.
    static func value(
        of function: @escaping @Sendable () async throws -> Value, within limit: Duration
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await value(of: function) }
            group.addTask {
                try await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func begin(_ function: @escaping @Sendable () async throws -> Value, _ reply: Reply<Value>) {
        state.withLock { $0.reply = reply }
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<Value, any Error>
            do {
                result = .success(try await function())
            } catch {
                result = .failure(error)
            }
            takeReply()?.resume(with: result)
        }
        let isWanted = state.withLock { state in
            guard state.reply != nil else { return false }
            state.task = task
            return true
        }
        // The waiter has left, or the function has returned.
        if !isWanted { task.cancel() }
    }

    private func cancel() {
        let (reply, task) = state.withLock { state in
            defer { state = State() }
            return (state.reply, state.task)
        }
        task?.cancelOffEngine()
        reply?.resume(with: .failure(CancellationError()))
    }

    private func takeReply() -> Reply<Value>? {
        state.withLock { state in
            defer { state = State() }
            return state.reply
        }
    }
}
