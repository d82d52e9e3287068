import Glibc

/// A thread that runs one closure and is joined.
struct LoopbackThread: Sendable {
    private let handle: pthread_t

    init(_ body: @escaping @Sendable () -> Void) throws {
        let box = unsafe Unmanaged.passRetained(Work(body))
        var handle = pthread_t()
        let status = unsafe pthread_create(
            &handle, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                }
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            unsafe box.release()
            throw LoopbackServer.SystemError("pthread_create", code: status)
        }
        self.handle = handle
    }

    /// Waits for the thread's end; a thread that joins itself is detached instead.
    func join() {
        if pthread_equal(handle, pthread_self()) != 0 {
            _ = pthread_detach(handle)
        } else {
            _ = pthread_join(handle, nil)
        }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
