import CurlEngine

/// The deadline of a call.
extension RequestActor: @preconcurrency EngineTimerTarget {
    /// Sets the timer for the deadline, unless the call has ended or has no deadline.
    func setTimer() {
        guard !hasEnded, timer == nil, let end = call.deadline.end else { return }
        let timer = EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: end)
    }

    /// Ends the call at its deadline, whatever it waits for.
    func timerIsDue() {
        // The total limits of exchanges in progress end at the same moment, or ended just before.
        var late: (any Error)?
        if let exchange, !exchange.hasMoved, let failure = exchange.onEngineThread.failure,
            isDeadline(failure, of: exchange)
        {
            late = failure
        }
        fail(late ?? overdue, .finish, isOverdue: true)
    }
}

/// The end of a call with an error, before its response has come: at its deadline, or because it is cancelled.
extension RequestActor {
    /// The result of a call that waits until its exchanges on other engines have ended.
    struct Ending {
        var error: any Error
        let event: RequestState.Event
        /// The exchanges that have not ended.
        var awaited: [ExchangeActor] = []
        /// The replies to callers that wait for the result.
        var replies: [Reply<StepResponse>] = []
    }

    /// Ends the exchanges in progress, and then the call.
    ///
    /// - Parameter isOverdue: Whether the call has reached its deadline, of which the error of an exchange tells more.
    func fail(_ error: any Error, _ event: RequestState.Event, isOverdue: Bool = false) {
        guard !hasEnded, decide(endingWith: call.completed(error)) else { return }
        // The task is cancelled first: a retrier that is told of the exchange's failure must not begin another attempt.
        cancelWork()
        ending = Ending(error: error, event: event)
        for exchange in exchangesToEnd(isOverdue: isOverdue) {
            guard exchange.hasMoved else {
                didEnd(exchange, exchange.onEngineThread.end(error, isOverdue: isOverdue))
                continue
            }
            ending?.awaited.append(exchange)
            exchange.submitDirectly { [self] exchange in
                let end = exchange.end(error, isOverdue: isOverdue)
                submit { request in
                    request.didEnd(exchange, end)
                    request.stopAwaiting(exchange)
                }
            }
        }
        finishEnding()
    }

    /// The error of the deadline. An exchange in progress has a better one, which takes its place.
    var overdue: TrellisError {
        var error = TrellisError(
            .timedOut(.total), method: call.request.method, url: call.completeURL)
        error.metrics.total = .nanoseconds(Int64(clamping: call.limit ?? 0))
        let history = exchange?.prepared.history
        error.metrics.attemptCount = history?.attempt ?? earlier?.attempt ?? 0
        error.followed = history?.redirects ?? earlier?.redirects ?? []
        guard let wait = call.record.withLock({ $0.wait }) else {
            if underWay.isEmpty {
                error.detail = "a step around the request was at work"
            } else {
                error.phase = .sending
            }
            return error
        }
        error.phase = wait.isQueue ? .queued : .connecting
        error.isHeldByLimit = wait.isQueue
        if wait.isQueue { error.metrics.queuedTime = executor.now.nanoseconds(since: wait.start) }
        error.detail = wait.description
        return error
    }

    /// Cancels the task that performs the call, if it has one.
    nonisolated func cancelWork() { call.record.withLock { $0.work }?.cancelOffEngine() }

    /// Ends the call, unless it waits for another exchange.
    private func stopAwaiting(_ exchange: ExchangeActor) {
        ending?.awaited.removeAll { $0 === exchange }
        finishEnding()
    }

    /// Returns the exchanges that end with the call. An exchange on another engine can have ended just now, at the same deadline.
    private func exchangesToEnd(isOverdue: Bool) -> [ExchangeActor] {
        guard isOverdue, let last = exchange, last.hasMoved, last.isEnded else { return underWay }
        return underWay + [last]
    }

    /// Records an exchange that has ended because its call ends.
    private func didEnd(_ exchange: ExchangeActor, _ end: ExchangeEnd) {
        // The exchange's own failure contains the phase. A task that was cancelled because of the deadline is no reason.
        if let failure = end.failure, end.wasInProgress || isDeadline(failure, of: exchange),
            !(failure is CancellationError) || ending?.event == .cancel
        {
            ending?.error = failure
        }
        guard end.wasInProgress, end.wasStarted else { return }
        let attempt = (exchange.prepared.history?.earlierAttempts ?? 0) + 1
        call.record(exchange.prepared, end.metrics, attempt: attempt)
    }

    /// Returns whether an exchange has failed at the deadline of the call, and not at an earlier limit of its own attempt.
    func isDeadline(_ failure: any Error, of exchange: ExchangeActor) -> Bool {
        (failure as? TrellisError)?.reason == .timedOut(.total) && exchange.prepared.limits.total == call.limit
    }

    private func finishEnding() {
        guard let ending, ending.awaited.isEmpty else { return }
        self.ending = nil
        let result = Result<StepResponse, any Error>.failure(call.ended(with: ending.error))
        self.result = result
        handle(ending.event)
        for reply in ending.replies { reply.resume(with: result) }
    }
}
