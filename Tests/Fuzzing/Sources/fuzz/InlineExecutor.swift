/// An executor that runs a task on the thread that waits for the task, so that the same input always has the same result.
final class InlineExecutor: TaskExecutor, @unchecked Sendable {
    // Unchecked: all jobs of the task run on the thread that calls `run`.
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

    private func drain() {
        while let job = jobs.popLast() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Returns the result of a function that never suspends for another executor.
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
        // Unchecked: all accesses are made on the thread that calls `run`.
        var value: Result<Value, any Error>?
    }
}
