// Public, because the compiler (as of 6.3) inlines inlinable functions of a package into its other modules only if they are public.
public import CCurl

/// A value guarded by a mutex, for the few places that more than one thread accesses.
///
/// `Synchronization.Mutex` is not used because the thread sanitizer cannot see it; the sanitizer sees this mutex.
@safe
public final class Locked<Value: ~Copyable>: @unchecked Sendable {
    // Unchecked: `value` is only accessed inside `withLock`, which holds the mutex.
    @usableFromInline let mutex: UnsafeMutableRawPointer
    // Exclusivity is unchecked: the mutex makes access exclusive.
    @usableFromInline @exclusivity(unchecked) var value: Value

    /// Creates a guarded value.
    package init(_ value: consuming sending Value) {
        unsafe mutex = ccurl_mutex_create()
        unsafe self.value = value
    }

    deinit { unsafe ccurl_mutex_destroy(mutex) }

    /// Runs `body` with exclusive access to the value. Keep `body` short: the engine thread may be waiting.
    ///
    /// - Throws: The error of `body`.
    @inlinable @inline(__always)
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe ccurl_mutex_lock(mutex)
        defer { unsafe ccurl_mutex_unlock(mutex) }
        return unsafe try body(&value)
    }
}
