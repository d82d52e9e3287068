import CurlEngine

/// Runs what blocks where it may: right here, or on the pool where the caller's task prefers the executor of a session and so
/// has brought its actors to the engine thread.
func offEngineThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws(FileReader.Failure) -> Value
) async throws(FileReader.Failure) -> Value {
    guard CallingThread.isEngine else { return try body() }
    // A child task, because that is what can be sent elsewhere.
    let result = await withTaskGroup(of: Result<Value, FileReader.Failure>.self) { group in
        group.addTask(executorPreference: globalConcurrentExecutor) {
            do throws(FileReader.Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        return await group.next()
    }
    guard let result else { throw FileReader.Failure(why: "it was not read") }
    return try result.get()
}
