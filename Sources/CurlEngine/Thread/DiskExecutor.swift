private import CCurl
private import Glibc

/// An executor for tasks that wait for disks, on threads of its own: the pool has as few threads as there are processors, and
/// other tasks need them.
///
/// A thread is started if all of them are busy, up to a limit, and ends when it has had no job for some seconds.
package final class DiskExecutor: TaskExecutor, Sendable {
    /// The executor of the process.
    package static let shared = DiskExecutor(limit: 64)

    private struct State {
        var jobs: ArraySlice<UnownedJob> = []
        /// The number of threads.
        var threads = 0
        /// The number of threads that wait for a job, or are about to take one.
        var idle = 0
    }

    /// The largest number of threads.
    private let limit: Int
    private let state = Locked(State())
    /// The semaphore that counts the jobs.
    private let arrivals = Semaphore()

    /// Creates an executor with at most `limit` threads.
    package init(limit: Int) { self.limit = limit }

    /// Adds a job, and starts a thread for it if all threads are busy and the limit allows another.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = state.withLock { state in
            state.jobs.append(job)
            guard state.jobs.count > state.idle, state.threads < limit else { return false }
            state.threads += 1
            state.idle += 1
            return true
        }
        arrivals.signal()
        if mustStart { startThread() }
    }

    private func startThread() {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe ccurl_thread_start(
            "trellis-disk", { context in unsafe DiskExecutor.run(context) }, context.toOpaque())
        guard code != 0 else { return }
        unsafe context.release()
        startFailed()
    }

    private static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        unsafe Unmanaged<DiskExecutor>.fromOpaque(context).takeRetainedValue().work()
    }

    /// Leaves the jobs to fewer threads, or to the pool if no thread is left.
    private func startFailed() {
        let stranded = state.withLock { state in
            state.threads -= 1
            state.idle -= 1
            guard state.threads == 0 else { return ArraySlice<UnownedJob>() }
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in stranded { globalConcurrentExecutor.enqueue(job) }
    }

    private func work() {
        while true {
            arrivals.wait(seconds: 5)
            let job = state.withLock { state in
                let job = state.jobs.popFirst()
                state.idle -= 1
                if job == nil { state.threads -= 1 }
                return job
            }
            guard let job else { return }
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            state.withLock { $0.idle += 1 }
        }
    }
}

/// A counter that threads wait on.
@safe
private final class Semaphore: @unchecked Sendable {
    // Unchecked: the pointer leads to a semaphore of the system, which any thread may use at any time.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func signal() { _ = unsafe sem_post(semaphore) }

    /// Waits until a signal arrives, for `seconds` at most.
    func wait(seconds: Int) {
        if unsafe sem_trywait(semaphore) == 0 { return }
        var end = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while unsafe sem_timedwait(semaphore, &end) != 0, errno == EINTR {}
    }
}
