import CurlEngine

/// The timers of the admission, in a session with several engines.
///
/// While requests wait, each engine on which one has begun to wait looks at the other engines about ten times a second. A waiting request
/// therefore depends on no thread but its own: a slot that an engine has not taken because it is stuck goes to another request, and a first
/// connection that is being made on such an engine is no longer waited for. An engine that has granted a slot to a request of another one
/// looks too, until the slot is taken: that request can be placed on another engine.
extension ConnectionAdmission {
    /// The time between two looks: an engine counts as stuck after the same time.
    private static var interval: Duration { .milliseconds(100) }

    // MARK: Offers

    /// Returns whether the slot that was offered to an exchange is still meant for the exchange.
    func isOpen(_ offer: Int) -> Bool { state.withLock { $0.offers[offer] != nil } }

    /// Takes the slot that was offered to an exchange. Returns `false` if the slot has gone to another one.
    func accept(_ offer: Int) -> Bool { state.withLock { $0.offers.removeValue(forKey: offer) != nil } }

    // MARK: Timers

    /// Sets the timer for the next look of an engine at the others. Call on the thread of the engine.
    func watch(on engine: ExchangeEngine) {
        setTimer(on: engine.executor, at: engine.executor.now.advanced(by: Self.interval)) { [self] in
            let (grants, isHolding, isOver) = state.withLock { $0.look(on: engine.index) }
            deliver(grants)
            // The engine that was to end the hold may be stuck.
            if isHolding { updateHold(on: engine) }
            if !isOver { watch(on: engine) }
        }
    }

    /// Lets an engine look at the others if requests have begun to wait there before the session had several engines.
    func watch(forRequestsOn engine: ExchangeEngine) {
        guard state.withLock({ $0.beginWatch(on: engine.index) }) else { return }
        engine.executor.submit { [self] in watch(on: engine) }
    }

    /// Lets exchanges take the idle connections of other origins if their time to wait is over, and otherwise sets the timer for that. Call
    /// on the thread of the engine.
    func updateHold(on engine: ExchangeEngine) {
        let now = engine.executor.now
        let (grants, end) = state.withLock { state in state.updateHold(now: now, on: engine.index) }
        deliver(grants, by: engine)
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
