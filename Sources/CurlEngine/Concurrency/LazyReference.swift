// Public, because the compiler (as of 6.3) inlines inlinable functions of a package into its other modules only if they are public.
public import Synchronization

/// A reference that is stored once, by the first thread that stores one, and read without a lock.
///
/// `Synchronization.AtomicLazyReference` is not used because the thread sanitizer cannot see it: its functions are calls into a library
/// that is not instrumented. `Atomic`'s functions are inlined.
@safe
public struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The address of the object, which is retained once; 0 if there is none.
    @usableFromInline let address = Atomic<UInt>(0)

    /// Creates an empty reference.
    @inlinable
    public init() {}

    deinit {
        guard let object = unsafe UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return }
        unsafe Unmanaged<Instance>.fromOpaque(object).release()
    }

    /// Returns the object; `nil` if none was stored.
    @inlinable @inline(__always)
    public borrowing func load() -> Instance? {
        guard let object = unsafe UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return nil }
        return unsafe Unmanaged<Instance>.fromOpaque(object).takeUnretainedValue()
    }

    /// Stores an object, unless one was stored before. Returns the one that is stored.
    @inlinable
    public borrowing func storeIfNil(_ instance: Instance) -> Instance {
        let retained = unsafe Unmanaged.passRetained(instance)
        let new = unsafe UInt(bitPattern: retained.toOpaque())
        let (isStored, stored) = address.compareExchange(
            expected: 0, desired: new, ordering: .acquiringAndReleasing)
        guard !isStored, let object = unsafe UnsafeRawPointer(bitPattern: stored) else { return instance }
        unsafe retained.release()
        return unsafe Unmanaged<Instance>.fromOpaque(object).takeUnretainedValue()
    }
}
