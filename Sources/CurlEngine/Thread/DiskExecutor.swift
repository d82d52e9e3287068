/// An executor for tasks that wait for disks, on threads of its own: the pool has as few threads as there are processors, and other tasks
/// need them. The threads are not those of ``BlockingThreadPool``, because a task on this executor may wait for work there.
package final class DiskExecutor: TaskExecutor, Sendable {
    /// The executor of the process.
    package static let shared = DiskExecutor(limit: 64)

    private let threads: BlockingThreads

    /// Creates an executor with at most `limit` threads.
    package init(limit: Int) { threads = BlockingThreads("trellis-disk", limit: limit) }

    /// Adds a job, and starts a thread for it if all threads are busy and the limit allows another.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.add { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
