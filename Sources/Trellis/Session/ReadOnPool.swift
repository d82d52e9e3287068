import CurlEngine
import FoundationEssentials

/// Gets a response and reads it on the pool.
///
/// Validators and serializers are called on the pool, never on the caller's actor, the main actor above all, and never on the
/// engine thread. The cost depends on the caller:
///
/// - a caller on the pool: no cost. `@concurrent` changes nothing, the arrival of the response resumes the task on the pool, and
///   the response is decoded there;
/// - a caller on an actor: no additional cost: the task leaves the actor before the request instead of after it;
/// - a task that prefers the engine's executor: one hop off the engine thread and one back, so that other requests are not held
///   up.
@concurrent
func readOnPool<Value: Sendable>(
    _ engine: EngineExecutor, _ answer: @Sendable () async throws -> Answer,
    _ body: @escaping @Sendable (Answer) async throws -> Value
) async throws -> Value {
    let answer = try await answer()
    guard engine.isCurrent else { return try await body(answer) }
    // A child task can prefer another executor; a change of preference does not move a task that is on an executor already.
    return try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(executorPreference: globalConcurrentExecutor) { try await body(answer) }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
