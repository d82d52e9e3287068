import CurlEngine
import FoundationEssentials

/// Awaits a response and reads it on the cooperative pool.
///
/// Validators and serializers are called on the pool, never on the caller's actor, in particular not on the main actor, and never on an
/// engine thread. The cost depends on the caller:
///
/// - a caller on the pool has no cost: `@concurrent` changes nothing, the arrival of the response resumes the task on the pool, and the
///   response is decoded there;
/// - a caller on an actor has no additional cost: the task leaves the actor before the request instead of after it;
/// - a task that prefers an engine's executor leaves the engine thread once and returns once, so that other requests are not delayed.
@concurrent
func readOnPool<Value: Sendable>(
    _ answer: @Sendable () async throws -> Answer, _ body: @escaping @Sendable (Answer) async throws -> Value
) async throws -> Value {
    let answer = try await answer()
    guard CallingThread.isEngine else { return try await body(answer) }
    // A child task can prefer another executor. A change of preference does not move a task that already runs on an executor.
    return try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(executorPreference: globalConcurrentExecutor) { try await body(answer) }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
