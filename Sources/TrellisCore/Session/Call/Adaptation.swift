import CurlEngine

/// The adapters of a direct call at work in a task. If the adapters wait, the call becomes a ``RequestActor``, and continues in the task.
final class Adaptation: Sendable {
    /// The state when the task has begun.
    enum State {
        case adapted(Result<Request, any Error>)
        /// The adapters wait, in this task.
        case waiting(Work)
    }

    /// The adapters that wait.
    struct Work: Sendable {
        let adaptation: Adaptation
        let task: Task<Void, Never>
    }

    /// The actor that waits for the adapters, with the reply to the caller of the call.
    struct Waiter: Sendable {
        let actor: RequestActor
        let reply: Reply<StepResponse>

        func proceed(with adapted: Result<Request, any Error>) async {
            actor.conclude(await Pipeline(actor).proceed(with: adapted), to: reply)
        }
    }

    private enum Progress {
        case running
        case awaited(Waiter)
        case adapted(Result<Request, any Error>)
    }

    private let progress = Locked(Progress.running)

    /// Stores the result of the adapters. Returns the waiter, if there is one.
    func finish(with result: Result<Request, any Error>) -> Waiter? {
        progress.withLock { progress in
            if case .awaited(let waiter) = progress { return waiter }
            progress = .adapted(result)
            return nil
        }
    }

    /// Returns the state, when the task has begun.
    func state(_ task: Task<Void, Never>) -> State {
        progress.withLock { progress in
            if case .adapted(let result) = progress {
                .adapted(result)
            } else {
                .waiting(Work(adaptation: self, task: task))
            }
        }
    }

    /// Stores a waiter. Returns the result, if the adapters have returned meanwhile.
    func wait(_ waiter: Waiter) -> Result<Request, any Error>? {
        progress.withLock { progress in
            if case .adapted(let result) = progress { return result }
            progress = .awaited(waiter)
            return nil
        }
    }
}

extension RequestActor {
    /// Performs the rest of a direct call whose adapters wait.
    @inline(never)
    nonisolated func proceed(
        after work: Adaptation.Work, _ conditions: ReadingConditions?
    ) async throws -> StepResponse {
        begin(with: conditions)
        return try await performed { reply in
            keep(work.task)
            let waiter = Adaptation.Waiter(actor: self, reply: reply)
            // The adapters have returned in between: the task has ended.
            if let result = work.adaptation.wait(waiter) {
                keep(Task.immediate { await waiter.proceed(with: result) })
            }
        }
    }
}
