import CurlEngine
import FoundationEssentials

/// Where answers are read.
///
/// Validators and serializers are called on the pool, never on the actor of the caller, the main actor above all, and never
/// on the engine thread. What that costs:
///
/// - a caller on the pool: nothing. `@concurrent` finds itself where it has to be, the answer's arrival resumes the task on
///   the pool, and it is decoded right there;
/// - a caller on an actor: nothing more either: the task leaves the actor before the request instead of behind it;
/// - a task that prefers the engine's executor: one hop out and one back, which it owes the other requests of its session.
@concurrent
func readOnPool<Value: Sendable>(
    _ engine: EngineExecutor, _ answer: @Sendable () async throws -> Answer,
    _ body: @escaping @Sendable (Answer) async throws -> Value
) async throws -> Value {
    let answer = try await answer()
    guard engine.isCurrent else { return try await body(answer) }
    // A child task, because that is what can be sent elsewhere: a change of preference does not move a task that is on an
    // executor already.
    return try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(executorPreference: globalConcurrentExecutor) { try await body(answer) }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
