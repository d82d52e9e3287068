private import CCurl

/// A thread for what may wait for long, such as a disk, which the pool's few threads are not for.
package enum WaitingThread {
    private final class Start {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    /// Runs `body` on a thread of its own.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let start = Start { continuation.resume(returning: body()) }
            let context = unsafe Unmanaged.passRetained(start)
            let code = unsafe ccurl_thread_start(
                "trellis-disk", { context in unsafe WaitingThread.run(context) }, context.toOpaque())
            guard code != 0 else { return }
            // No thread is to be had: here, then.
            unsafe context.release()
            continuation.resume(returning: body())
        }
    }

    private static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
    }
}
