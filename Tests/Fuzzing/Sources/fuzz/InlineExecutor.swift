/// Runs a task in the thread that waits for it, so that the same input does the same each time.
final class InlineExecutor: TaskExecutor, @unchecked Sendable {
    // Unchecked: all that the task does, it does in the one thread that calls `run`.
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

    private func drain() {
        while let job = jobs.popLast() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// What a function returns that waits for nothing.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let executor = InlineExecutor()
        let result = Box<Value>()
        Task(executorPreference: executor) {
            do { result.value = .success(try await body()) } catch { result.value = .failure(error) }
        }
        executor.drain()
        guard let value = result.value else { preconditionFailure("it waits for something") }
        return try value.get()
    }

    private final class Box<Value: Sendable>: @unchecked Sendable {
        // Unchecked: as above.
        var value: Result<Value, any Error>?
    }
}
