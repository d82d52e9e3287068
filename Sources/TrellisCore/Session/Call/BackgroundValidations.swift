import CurlEngine

/// The validations of stored responses in the background of a session (RFC 5861, section 3). They end with the session.
final class BackgroundValidations: Sendable {
    /// A validation, which the session waits for while it drains, and cancels after that.
    private final class Validation: SessionOperation {
        private struct State {
            var task: Task<Void, Never>?
            var isCancelled = false
        }

        /// Forbids that anything which the validation has received is stored.
        let revoke: @Sendable () -> Void
        private let state = Locked(State())

        init(revoke: @escaping @Sendable () -> Void) { self.revoke = revoke }

        var task: Task<Void, Never>? { state.withLock { $0.task } }

        /// Keeps the task that performs the validation.
        func keep(_ task: Task<Void, Never>) {
            let isCancelled = state.withLock { state in
                state.task = task
                return state.isCancelled
            }
            if isCancelled { task.cancelOffEngine() }
        }

        func cancel(_ error: any Error) {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancelOffEngine()
        }
    }

    private let running = Locked<[ObjectIdentifier: Validation]>([:])

    /// The number of validations that have not ended.
    var count: Int { running.withLock { $0.count } }

    /// Begins a validation, unless the session is being shut down.
    ///
    /// - Parameters:
    ///   - actor: The actor that knows the operations of the session.
    ///   - revoke: Forbids that anything which the validation has received is stored, if the session ends before the validation.
    func begin(
        in actor: SessionActor, _ work: @escaping @Sendable () async -> Void, revoke: @escaping @Sendable () -> Void
    ) {
        let validation = Validation(revoke: revoke)
        // The end of the session finds a validation only with its task.
        running.withLock { validations in
            validations[ObjectIdentifier(validation)] = validation
            validation.keep(
                Task(executorPreference: globalConcurrentExecutor) { [self] in
                    if await actor.begin(validation) {
                        await work()
                        actor.submit { $0.didEnd(validation) }
                    }
                    running.withLock { $0[ObjectIdentifier(validation)] = nil }
                })
        }
    }

    /// Cancels the validations, and waits until they have ended, at most for `limit` on a clock: a storage or a handler of the user's may
    /// take longer. A validation that has not ended then stores nothing.
    func end(within limit: Duration, on clock: any EngineClock) async {
        let tasks = running.withLock { Array($0.values) }.compactMap(\.task)
        for task in tasks { task.cancel() }
        if await waitForEnd(of: tasks, within: limit, on: clock) { return }
        for validation in running.withLock({ Array($0.values) }) { validation.revoke() }
    }
}
