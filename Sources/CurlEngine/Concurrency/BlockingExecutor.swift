/// An executor for tasks that wait for disks or for the system's resolver, on separate threads: the pool has as few threads as there are
/// processors, and other tasks need them. The threads do not belong to ``BlockingThreadPool``, because a task on this executor may wait for
/// work there.
package final class BlockingExecutor: TaskExecutor, Sendable {
    /// The process's executor for files.
    package static let disk = BlockingExecutor("trellis-disk", limit: 64)
    /// The process's executor for lookups of names.
    package static let names = BlockingExecutor("trellis-names", limit: 16)

    private let threads: BlockingThreads
    /// The folder that the tasks need, if it is known.
    private let place: String?

    /// Creates an executor with at most `limit` threads of a name.
    package init(_ name: String, limit: Int) {
        threads = BlockingThreads(name, limit: limit)
        place = nil
    }

    private init(_ threads: BlockingThreads, at place: String) { (self.threads, self.place) = (threads, place) }

    /// Returns an executor for tasks that need a folder, on the threads of ``disk``. A disk that hangs keeps only a part of them from the
    /// tasks that need other folders.
    ///
    /// - Parameter folder: The folder; `nil` if it is not known.
    package static func disk(at folder: String?) -> BlockingExecutor {
        folder.map { BlockingExecutor(disk.threads, at: $0) } ?? disk
    }

    /// Adds a job, and starts a thread for it if all threads are busy and the limit allows another.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.add({ unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }, at: place)
    }
}
