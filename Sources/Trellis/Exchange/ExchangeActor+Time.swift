import CurlEngine

/// The timer for the time limits of an exchange.
extension ExchangeActor {
    /// Starts the clock of the exchange: for a deferred handle, when it is first resumed.
    func startClock() {
        isClockRunning = true
        deadlines = Deadlines(limits: prepared.limits, start: executor.now)
        lastMove = deadlines.start
    }

    /// Moves the timer to the next limit, if that is earlier than the timer's deadline.
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

    /// Fails the exchange if a limit is reached; otherwise sets the timer again, because it is not moved at every byte.
    func timerFired() {
        if awaitsSource { lastMove = executor.now }
        guard let progress = state.progress, let expiry = nextExpiry(progress) else { return }
        guard expiry.instant <= executor.now else { return updateTimer() }
        var error = TrellisError(.timedOut(expiry.timeout))
        if progress == .queued { error.detail = admission.reasonForWaiting(self) }
        fail(error)
    }
}

extension ExchangeActor {
    /// Ends the exchange at the deadline of its call, which may be earlier than its own: a handle's exchange may have been started
    /// later.
    func totalIsOver() {
        var error = TrellisError(.timedOut(.total))
        if state.progress == .queued { error.detail = admission.reasonForWaiting(self) }
        fail(error)
    }
}

extension ExchangeActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.timerFired() }
}
