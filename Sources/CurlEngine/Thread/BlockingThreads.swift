private import CCurl

/// Threads for jobs that block, and the jobs that wait for one of them. A thread is started if all others are busy, up to a limit, and ends
/// when it has had no job for some seconds.
final class BlockingThreads: Sendable {
    /// The time for which a thread waits for another job, in milliseconds.
    private static let patience: UInt32 = 5000

    private struct State {
        /// The jobs that no thread has begun, in the order of their arrival.
        var jobs = FIFO<@Sendable () -> Void>()
        /// The number of threads.
        var threads = 0
        /// The number of threads that wait for a job and have not been woken.
        var idle = 0
    }

    /// The step that remains after a job was added.
    private enum RequiredAction { case nothing, wake, start }

    /// The name of each thread in a debugger.
    private let name: String
    /// The largest number of threads.
    private let limit: Int
    private let state = Locked(State())
    private let bell = ThreadSemaphore()

    init(_ name: String, limit: Int) {
        self.name = name
        self.limit = limit
    }

    /// Adds a job, and starts a thread for it if all threads are busy and the limit allows another.
    func add(_ job: @escaping @Sendable () -> Void) {
        let duty = state.withLock { state -> RequiredAction in
            state.jobs.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < limit else { return .nothing }
            state.threads += 1
            return .start
        }
        switch duty {
        case .nothing: break
        case .wake: bell.ring()
        case .start: start()
        }
    }

    private func start() {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe ccurl_thread_start(
            name, { context in unsafe BlockingThreads.work(context) }, context.toOpaque())
        guard code != 0 else { return }
        unsafe context.release()
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        // The system refuses to start a thread. The caller may be an engine, so the pool runs the jobs.
        if isAlone { Task.detached { self.workOff() } }
    }

    /// Indicates whether the calling thread is made for jobs that block.
    static var isCalling: Bool { ccurl_thread_may_wait() }

    private static func work(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        let threads = unsafe Unmanaged<BlockingThreads>.fromOpaque(context).takeRetainedValue()
        ccurl_thread_set_may_wait(true)
        repeat { threads.workOff() } while threads.waitForMore()
    }

    private func workOff() {
        while let job = state.withLock({ $0.jobs.popFirst() }) { job() }
    }

    /// Waits for another job. Returns `false` if the thread is not needed any more.
    private func waitForMore() -> Bool {
        let mayWait = state.withLock { state -> Bool in
            guard state.jobs.isEmpty else { return false }
            state.idle += 1
            return true
        }
        guard mayWait, !bell.wait(milliseconds: Self.patience) else { return true }
        let mayEnd = state.withLock { state in
            guard state.idle > 0 else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
        // The thread has been woken at the last moment.
        if !mayEnd { while !bell.wait(milliseconds: Self.patience) {} }
        return !mayEnd
    }
}

/// A semaphore that wakes one waiting thread at a time (`sem_t`).
@safe
private final class ThreadSemaphore: @unchecked Sendable {
    // Unchecked: the semaphore is made for several threads, and the pointer never changes.
    private let semaphore: UnsafeMutableRawPointer

    init() { unsafe semaphore = ccurl_semaphore_create() }

    deinit { unsafe ccurl_semaphore_destroy(semaphore) }

    func ring() { unsafe ccurl_semaphore_post(semaphore) }

    /// Waits until a ring arrives. Returns `false` if none has arrived after `milliseconds`.
    func wait(milliseconds: UInt32) -> Bool { unsafe ccurl_semaphore_wait(semaphore, milliseconds) }
}
