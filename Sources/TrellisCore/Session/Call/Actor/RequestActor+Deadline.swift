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
        if let exchange, let failure = exchange.onEngineThread.failure, isDeadline(failure, of: exchange) {
            late = failure
        }
        fail(late ?? overdue, .finish, isOverdue: true)
    }
}

/// The end of a call with an error, before its response has come: at its deadline, or because it is cancelled.
extension RequestActor {
    /// Ends the exchanges in progress, and then the call.
    ///
    /// - Parameter isOverdue: Whether the call has reached its deadline. The error of an exchange tells more about that.
    func fail(_ error: any Error, _ event: RequestState.Event, isOverdue: Bool = false) {
        guard !hasEnded, decide(endingWith: call.completed(error)) else { return }
        // The task is cancelled first: a retrier that is told of the exchange's failure must not begin another attempt.
        cancelWork()
        var reason = error
        for exchange in underWay {
            let end = exchange.onEngineThread.end(error, isOverdue: isOverdue)
            // The exchange's own failure contains the phase. A task that was cancelled because of the deadline is no reason.
            if let failure = end.failure, end.wasInProgress || isDeadline(failure, of: exchange),
                !(failure is CancellationError) || event == .cancel
            {
                reason = failure
            }
            guard end.wasInProgress, end.wasStarted else { continue }
            let attempt = (exchange.prepared.history?.earlierAttempts ?? 0) + 1
            call.record(exchange.prepared, end.metrics, attempt: attempt)
        }
        result = .failure(call.ended(with: reason))
        handle(event)
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

    /// Returns whether an exchange has failed at the deadline of the call, and not at an earlier limit of its own attempt.
    func isDeadline(_ failure: any Error, of exchange: ExchangeActor) -> Bool {
        (failure as? TrellisError)?.reason == .timedOut(.total) && exchange.prepared.limits.total == call.limit
    }
}
