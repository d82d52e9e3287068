/// A task for a function, whose waiter leaves when its own task is cancelled, even if the function does not return.
enum FunctionTask {
    /// Returns the result of a function.
    ///
    /// - Throws: The error of the function; `CancellationError` as soon as the calling task is cancelled.
    static func value<Value: Sendable>(
        of function: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await SharedWork<Bool, Value>().value(for: true, of: function)
    }

    /// Returns the result of a function; `nil` if it has not returned at the end of a wait. The function is cancelled then, and is not
    /// waited for.
    ///
    /// - Throws: The error of the function or of the wait; `CancellationError` as soon as the calling task is cancelled.
    static func value<Value: Sendable>(
        of function: @escaping @Sendable () async throws -> Value,
        orEndOf wait: @escaping @Sendable () async throws -> Void
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await value(of: function) }
            group.addTask {
                try await wait()
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
