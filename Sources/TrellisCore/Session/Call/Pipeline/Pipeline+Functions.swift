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
                    try await self.context.pause(for: .nanoseconds(limit))
                    return nil
                }
                defer { group.cancelAll() }
                if let first = try await group.next(), let value = first { return value }
                var error = TrellisError(.timedOut(.connect), phase: .connecting)
                error.metrics.total = elapsed
                error.detail = function.description
                error.isTrustTimeout = function.isEvaluator
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
