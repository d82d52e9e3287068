import Dispatch
import Glibc
import Synchronization

/// Runs a call that may block for a long time on a thread that may be blocked.
func offThePool<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Result(catching: call)) }
    }
}

/// Runs a call that may block forever on a thread that may be blocked. A cancelled task does not wait for the end of the call.
func offThePoolUnlessCancelled<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
    let waiter = Waiter<Value>()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            waiter.begin(continuation)
            guard !Task.isCancelled else { return waiter.end(.failure(CancellationError())) }
            DispatchQueue.global().async { waiter.end(Result(catching: call)) }
        }
    } onCancel: {
        waiter.end(.failure(CancellationError()))
    }
}

/// The continuation of a task that waits for a result or for cancellation, and is resumed by the first of them.
private final class Waiter<Value: Sendable>: Sendable {
    private let continuation = Mutex<CheckedContinuation<Value, any Error>?>(nil)

    func begin(_ new: CheckedContinuation<Value, any Error>) { continuation.withLock { $0 = new } }

    func end(_ result: Result<Value, any Error>) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(with: result)
    }
}

/// Returns the message about the error of the last system call.
func systemError() -> String { String(cString: strerror(errno)) }
