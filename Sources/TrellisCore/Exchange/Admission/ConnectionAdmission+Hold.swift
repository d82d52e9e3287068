import CurlEngine

/// The timers of the admission, in a session with several engines.
extension ConnectionAdmission {
    /// Lets exchanges take the idle connections of other origins if their time to wait is over, and otherwise sets the timer for that. Call
    /// on the thread of the engine.
    func updateHold(on engine: ExchangeEngine) {
        let now = engine.executor.now
        let (grants, end) = state.withLock { state in state.updateHold(now: now) }
        deliver(grants)
        guard let end else { return }
        setTimer(on: engine.executor, at: end) { [self] in updateHold(on: engine) }
    }

    private func setTimer(
        on executor: EngineExecutor, at deadline: EngineInstant, _ body: @escaping @Sendable () -> Void
    ) {
        executor.engineLoop.set(EngineTimer(AdmissionTimer(body)), at: deadline)
    }

    private final class AdmissionTimer: EngineTimerTarget, Sendable {
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func timerIsDue() { body() }
    }
}
