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

extension Session {
    /// Sends a request in the background, as an operation of the session's own, which ends with it.
    ///
    /// It has the limit in time of a response in memory: nobody waits for it who could cancel it.
    ///
    /// - Parameters:
    ///   - receive: Receives the response. It does not run after a failure.
    ///   - end: Is called when the operation has ended, in whatever way.
    ///   - revoke: Forbids that anything of the response is stored, if the session ends before the operation.
    package func validateInBackground(
        _ request: Request, _ steps: Steps, receive: @escaping @Sendable (StepResponse, CallContext) async -> Void,
        end: @escaping @Sendable () -> Void, revoke: @escaping @Sendable () -> Void
    ) {
        var request = request
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = preparation.limits(of: request, delivery: .memory).total.map { .nanoseconds($0) }
        request.timeouts = timeouts
        request.attachment = nil
        let call = backgroundCall(for: request, AttachedSteps(steps))
        let work = { @Sendable in
            if let answer = try? await call.run() { await receive(answer, CallContext(call.call)) }
            end()
        }
        validations.begin(in: actor, work, revoke: revoke)
    }
}
