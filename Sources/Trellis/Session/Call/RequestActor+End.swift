import CurlEngine

/// The end of a call with an error, before its response has come.
extension RequestActor {
    /// The result of a call that waits until its exchanges on other engines have ended.
    struct Ending {
        var error: any Error
        let event: RequestState.Event
        /// The number of exchanges that have not ended.
        var awaitedCount = 0
    }

    /// Ends the exchanges in progress, and then the call.
    ///
    /// - Parameter isOverdue: Indicates whether the call has reached its deadline, of which the error of an exchange tells more.
    func fail(_ error: any Error, _ event: RequestState.Event, isOverdue: Bool = false) {
        guard !hasEnded, decide() else { return }
        // The task is cancelled first: a retrier that is told of the exchange's failure must not begin another attempt.
        call.record.withLock { $0.work }?.cancelOffEngine()
        ending = Ending(error: error, event: event)
        for exchange in underWay {
            ending?.awaitedCount += 1
            guard exchange.hasMoved else {
                let end = exchange.onEngineThread.end(error, isOverdue: isOverdue)
                didEnd(exchange, end)
                continue
            }
            exchange.submit { [self] exchange in
                let end = exchange.end(error, isOverdue: isOverdue)
                submit { $0.didEnd(exchange, end) }
            }
        }
        finishEnding()
    }

    /// Records an exchange that has ended because its call ends.
    private func didEnd(_ exchange: ExchangeActor, _ end: ExchangeEnd) {
        // The exchange's own failure contains the phase.
        if let failure = end.failure { ending?.error = failure }
        let attempt = (exchange.prepared.history?.earlierAttempts ?? 0) + 1
        call.record(exchange.prepared, end.metrics, attempt: attempt)
        ending?.awaitedCount -= 1
        if exchange.hasMoved { finishEnding() }
    }

    private func finishEnding() {
        guard let ending, ending.awaitedCount == 0 else { return }
        self.ending = nil
        let result = Result<StepResponse, any Error>.failure(ending.error).mapError(completed)
        self.result = result
        tellEnd(result)
        handle(ending.event)
    }
}
