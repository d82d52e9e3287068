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
        let timer = timer ?? EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: expiry.instant)
    }

    private func nextExpiry(_ progress: ExchangeState.Progress) -> Deadlines.Expiry? {
        let activity = task?.activity
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
        var error = TrellisError(.timedOut(expiry.timeout))
        error.detail = reasonForWaiting
        fail(error)
    }
}

extension ExchangeActor {
    /// Ends the exchange at the deadline of its call. That deadline can be earlier than the exchange's own, because the exchange of a
    /// handle may have started later.
    func totalIsOver() {
        var error = TrellisError(.timedOut(.total))
        error.detail = reasonForWaiting
        fail(error)
    }

    /// The reason why the exchange waits for a slot or for its connection, for errors; `nil` if no reason is known.
    private var reasonForWaiting: String? {
        switch state.progress {
        case .queued: admission.reasonForWaiting(self)
        case .connecting: (task as? any WaitingTransportTask)?.reasonForWaiting
        default: nil
        }
    }
}

extension ExchangeActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.timerFired() }
}
