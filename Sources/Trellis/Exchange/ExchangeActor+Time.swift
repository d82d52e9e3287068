import CurlEngine

/// The time limits of a request: when the next one is over, and what happens then.
extension ExchangeActor {
    /// Begins the time of the request: where a handle was kept for a while, with its first start.
    func startClock() {
        isClockRunning = true
        deadlines = Deadlines(limits: prepared.limits, start: executor.now)
        lastMove = deadlines.start
    }

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

    /// The timer is not moved at every byte: it looks at what has happened since.
    func timerFired() {
        if awaitsSource { lastMove = executor.now }
        guard let progress = state.progress, let expiry = nextExpiry(progress) else { return }
        guard expiry.instant <= executor.now else { return updateTimer() }
        var error = TrellisError(.timedOut(expiry.timeout))
        if progress == .queued { error.detail = admission.reasonForWaiting(self) }
        fail(error)
    }
}

extension ExchangeActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.timerFired() }
}
