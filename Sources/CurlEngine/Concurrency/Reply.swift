// Public, because inlinable functions refer to it.
public import CCurl

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
    defer { acquireResumption() }
    return try await unsafe withUnsafeThrowingContinuation { continuation in
        unsafe body(Reply(unsafe continuation))
        acquireResumption()
    }
}

/// Suspends the task until its continuation is resumed, as `withCheckedContinuation` does.
@inlinable @inline(__always)
package func withContinuation<Value: Sendable>(
    function: String = #function, _ body: (CheckedContinuation<Value, Never>) -> Void
) async -> Value {
    defer { acquireResumption() }
    return await withCheckedContinuation(function: function) { continuation in
        body(continuation)
        acquireResumption()
    }
}

/// Suspends the task until its continuation is resumed, as `withCheckedThrowingContinuation` does.
@inlinable @inline(__always)
package func withThrowingContinuation<Value: Sendable>(
    function: String = #function, _ body: (CheckedContinuation<Value, any Error>) -> Void
) async throws -> Value {
    defer { acquireResumption() }
    return try await withCheckedThrowingContinuation(function: function) { continuation in
        body(continuation)
        acquireResumption()
    }
}

/// Shows the thread sanitizer that the resumption of the calling task's continuation happened before the code that follows.
///
/// The runtime (as of 6.3) shows this only if the task was suspended. A continuation may be resumed before the task awaits it, for example
/// if the engine's answer comes while the task still starts the engine thread: then the task continues at once. The runtime orders the
/// memory then too, but with an atomic load that the sanitizer does not see, so every access to the result would be reported as a race.
///
/// The call before the await is for the runtime's own read of the result, which optimized code shows to the sanitizer. The call after the
/// await is for a resumption that came between the two.
@inlinable @inline(__always)
package func acquireResumption() {
    if ccurl_has_thread_sanitizer { ccurl_sanitizer_acquire_task() }
}
