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
    /// Validates a stored response in the background, as an operation of the session's own (RFC 5861, section 3), which ends with it.
    ///
    /// It has the limits of the request that used the stale response, or, for a stream, the limit in time of a response in memory: nobody
    /// waits for it who could cancel it. It receives a body only as long as that is being stored.
    ///
    /// - Parameters:
    ///   - delivery: The delivery of the request that used the stale response.
    ///   - steps: The steps of the request that used the stale response.
    ///   - leader: The ticket with which no other request validates the same response.
    func validateInBackground(
        _ request: Request, for delivery: Delivery, _ steps: Steps, in cache: HTTPCache, leading leader: CacheTicket
    ) {
        var request = request
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = preparation.limits(of: request, delivery: .memory).total.map { .nanoseconds($0) }
        request.timeouts = timeouts
        if delivery == .memory { request.maximumBodySize = request.maximumBodySize ?? configuration.maximumBodySize }
        request.attachment = nil
        request.cacheMode = .noCache
        var background = Steps()
        (background.cache, background.cookies) = (steps.cache, steps.cookies)
        (background.circuitBreaker, background.rateLimiters) = (steps.circuitBreaker, steps.rateLimiters)
        background.signers = steps.signers
        background.cachedResponseHandler = steps.cachedResponseHandler
        (background.redirectHandler, background.exchangeObserver) = (.doNotFollow, steps.exchangeObserver)
        let call = backgroundCall(for: request, AttachedSteps(background))
        let work = { @Sendable in
            // A failure leaves the stored response as it is.
            if let answer = try? await call.run() { await answer.store(CallContext(call.call)) }
            leader.settle(.stored)
        }
        validations.begin(in: actor, work) {
            // An entry that a storage makes visible later, in spite of that, is removed again.
            cache.exchanges.invalidate(leader.key)
            leader.settle(.left)
        }
    }
}

extension StepResponse {
    /// Receives the body as long as it is being stored, and ends the transfer.
    fileprivate func store(_ context: CallContext) async {
        // The body of a stored response has not to be received.
        guard case .source(let token) = content, let source = token.source as? StoringSource else { return }
        do { while source.isStoring, try await source.next() != nil {} } catch {}
        // The session may have cancelled the validation, and waits for its end.
        await source.waitForCommit()
        await discard(context)
    }
}
