/// The continuation of a task that waits for a result. A reply must be resumed exactly once.
///
/// A reply is an `UnsafeContinuation` under another name. The state machines that hold replies use each of them once, the tests check this,
/// and a checked continuation would cost every request an allocation.
@safe
@usableFromInline package struct Reply<Value: Sendable>: Sendable {
    @usableFromInline let continuation: UnsafeContinuation<Value, any Error>

    @inlinable init(_ continuation: UnsafeContinuation<Value, any Error>) { unsafe self.continuation = continuation }

    /// Resumes the task.
    @inlinable
    package func resume(with result: Result<Value, any Error>) {
        switch result {
        case .success(let value): unsafe continuation.resume(returning: value)
        case .failure(let error): unsafe continuation.resume(throwing: error)
        }
    }
}

/// Suspends the task until its reply is resumed.
@inlinable @inline(__always)
package func withReply<Value: Sendable>(_ body: (Reply<Value>) -> Void) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { unsafe body(Reply(unsafe $0)) }
}
