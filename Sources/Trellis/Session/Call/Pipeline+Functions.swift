import CurlEngine

/// The functions of the session's owner that a call asks before its request is sent: resolvers, evaluators, the choice of proxies.
extension Pipeline {
    /// Returns the result of a function, which runs in a task of its own, within the limit on connecting. The function is cancelled when
    /// the time is over or the call ends, and is not waited for after that.
    ///
    /// - Throws: The error of the function; ``TrellisError`` of kind ``TrellisError/Kind/connectTimeout``; `CancellationError` in a
    ///   cancelled task.
    @inline(never)
    func result<Value: Sendable>(
        of function: CallFunction, for request: Request, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await noting(function) {
            let limit = session.preparation.limits(of: request, delivery: call.delivery).connect
            guard let limit else { return try await FunctionTask.value(of: work) }
            return try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask { try await FunctionTask.value(of: work) }
                group.addTask {
                    try await self.context.wait(for: .nanoseconds(limit))
                    return nil
                }
                defer { group.cancelAll() }
                if let first = try await group.next(), let value = first { return value }
                var error = TrellisError(.timedOut(.connect), phase: .connecting)
                error.metrics.total = elapsed
                error.detail = function.description
                throw error
            }
        }
    }

    /// Performs work with a record of the function that the call waits for, which the error of a deadline names.
    func noting<Value>(
        _ function: CallFunction, isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> Value
    ) async throws -> Value {
        let start = call.clock.now()
        call.record.withLock { $0.wait = .function(function, since: start) }
        defer { call.record.withLock { $0.wait = nil } }
        return try await work()
    }

    /// The time since the call began.
    var elapsed: Duration { .nanoseconds(Int64(clamping: call.clock.now().nanoseconds(since: call.deadline.start))) }
}

/// A task for a function, whose waiter leaves when its own task is cancelled, even if the function does not return.
private final class FunctionTask<Value: Sendable>: Sendable {
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
