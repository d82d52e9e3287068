import CCurl

/// The thread of an engine, detached and with all signals blocked.
enum EngineThread {
    /// The body of a thread as an object, so that C can pass it as a pointer.
    private final class Start {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    /// Returns whether the calling thread is the thread of `engine`.
    static func isCurrent(_ engine: AnyObject) -> Bool {
        unsafe ccurl_thread_tag() == UnsafeRawPointer(Unmanaged.passUnretained(engine).toOpaque())
    }

    /// The executor whose thread calls; `nil` on a thread that is not an engine's.
    static var current: EngineExecutor? {
        guard let tag = unsafe ccurl_thread_tag() else { return nil }
        return unsafe Unmanaged<AnyObject>.fromOpaque(tag).takeUnretainedValue() as? EngineExecutor
    }

    /// Starts a thread that runs `body` as the thread of `engine`. Returns zero or an `errno`.
    static func start(for engine: AnyObject, _ body: @escaping @Sendable () -> Void) -> Int32 {
        let start = Start { [engine] in
            unsafe ccurl_thread_set_tag(Unmanaged.passUnretained(engine).toOpaque())
            ccurl_memory_begin()
            body()
            ccurl_memory_end()
            ccurl_thread_set_tag(nil)
        }
        let context = unsafe Unmanaged.passRetained(start)
        let code = unsafe ccurl_thread_start(
            "trellis-engine", { context in unsafe EngineThread.run(context) }, context.toOpaque())
        if code != 0 { unsafe context.release() }
        return code
    }

    private static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
    }
}

/// The calling thread.
package enum CallingThread {
    /// Whether the calling thread is an engine thread. A task that prefers the executor of a session runs the code of every actor
    /// there. Blocking work must be moved to another thread then.
    package static var isEngine: Bool { unsafe ccurl_thread_tag() != nil }
}

extension Task {
    /// Cancels the task, from a thread of the pool if the caller is on an engine thread: cancellation handlers run on the thread
    /// that cancels, and may be code of the user's, which must not block an engine.
    package func cancelOffEngine() {
        guard CallingThread.isEngine else { return cancel() }
        Task<Void, Never>(executorPreference: globalConcurrentExecutor) { cancel() }
    }
}
