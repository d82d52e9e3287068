import CurlEngine

/// The timer for the time limits of an exchange.
extension ExchangeActor {
    /// Starts the clock of the exchange. For a deferred handle, that is when the handle is first resumed.
    func startClock() {
        isClockRunning = true
        deadlines = Deadlines(limits: prepared.limits, start: executor.now)
        lastMove = deadlines.start
    }

    /// Moves the timer to the next limit, if that limit is earlier than the timer's deadline.
    func updateTimer() {
        guard isClockRunning, let progress = state.progress, let expiry = nextExpiry(progress) else { return }
        if let deadline = timer?.deadline, deadline <= expiry.instant { return }
        let timer = timer ?? executor.engineLoop.makeTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: expiry.instant)
    }

    private func nextExpiry(_ progress: ExchangeState.Progress) -> Deadlines.Expiry? {
        if state.hasSwitchedProtocols { return nil }
        // No limit begins with a move of bytes before the request is being sent.
        let activity = progress >= .sending ? task?.activity : nil
        return deadlines.next(
            progress, lastMove: max(lastMove, activity?.last ?? lastMove),
            lastSend: isBodySent ? max(lastMove, activity?.lastSend ?? lastMove) : nil,
            isHeld: state.isHeldByReader || state.isSuspended || flow?.isHeld == true)
    }

    /// Fails the exchange if a limit is reached. Otherwise sets the timer again, because the timer is not moved at every byte.
    func timerFired() {
        if awaitsSource { lastMove = executor.now }
        guard let progress = state.progress, let expiry = nextExpiry(progress) else { return }
        guard expiry.instant <= executor.now else { return updateTimer() }
        if expiry.timeout == .connect, let start = task?.activity?.connectStart,
            start > deadlines.connectStart
        {
            // The attempt has waited for a stream, which is no time of connecting. The timer is not moved at every such wait.
            deadlines.connectStart = start
            return updateTimer()
        }
        fail(after: expiry.timeout)
    }

    /// Fails an exchange that gets its slot when its limit in total is reached, although its timer has not fired. The clock is read again,
    /// because many slots can be passed on in one turn of the loop.
    func failIfOverdue() {
        guard state.progress == .queued, isClockRunning, prepared.limits.total != nil else { return }
        guard deadlines.isTotalOver(at: executor.engineLoop.latest) else { return }
        var error = TrellisError(.timedOut(.total))
        // The exchange is not in the queue any more, which cannot tell why it waited.
        error.detail = "its turn came only then"
        fail(error)
    }

    private func fail(after timeout: TrellisError.Timeout) {
        var error = TrellisError(.timedOut(timeout))
        error.detail = reasonForWaiting
        error.isUntried = timeout == .connect && prepared.limits.connect == 0
        task?.didTimeOut(isIdle: timeout == .idle)
        fail(error)
    }
}

/// The end of an exchange whose call has ended.
struct ExchangeEnd: Sendable {
    /// The exchange's own error; `nil` if it has none.
    let failure: (any Error)?
    let metrics: Metrics
    /// Whether the exchange ended because of the call.
    let wasInProgress: Bool
    /// Whether the exchange had started before its end.
    let wasStarted: Bool
}

extension ExchangeActor {
    /// Ends the exchange because its call ends.
    ///
    /// - Parameter isOverdue: Whether the call has reached its deadline. That deadline can be earlier than the exchange's own,
    ///   because the exchange of a handle may have started later.
    func end(_ error: any Error, isOverdue: Bool) -> ExchangeEnd {
        let wasInProgress = !state.isEnded
        let wasStarted = state.phase != .initialized && state.phase != .suspended(.parked)
        if isOverdue { fail(after: .total) }
        cancel(error)
        return ExchangeEnd(
            failure: failure, metrics: finalMetrics, wasInProgress: wasInProgress, wasStarted: wasStarted)
    }

    /// The reason why the exchange waits for a slot or for its connection, for errors; `nil` if no reason is known.
    private var reasonForWaiting: String? {
        switch state.progress {
        case .queued: originIndex.map { admission.reasonForWaiting(self, at: $0) }
        case .connecting: task?.reasonForWaiting
        default: nil
        }
    }
}

extension ExchangeActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.timerFired() }
}
