extension EngineExecutor {
    /// Suspends the calling task for a duration on the engine's clock.
    ///
    /// - Returns: `false` if the engine ended before the time.
    /// - Throws: `CancellationError` in a cancelled task, at once.
    package func delay(for duration: Duration) async throws -> Bool {
        // The time begins with the call, and not when the engine thread comes to it.
        try await delay(until: latest.advanced(by: duration))
    }

    /// Suspends the calling task as ``delay(for:)`` does, until an instant of the engine's clock.
    package func delay(until instant: EngineInstant) async throws -> Bool {
        let delay = EngineDelay()
        let outcome = await withTaskCancellationHandler {
            await withContinuation { continuation in
                guard delay.begin(continuation) else { return }
                submit { [self] in delay.setTimer(on: engineLoop, at: instant) }
            }
        } onCancel: {
            delay.finish(.cancelled)
            submit { [self] in delay.removeTimer(from: engineLoop) }
        }
        if outcome == .cancelled { throw CancellationError() }
        return outcome == .elapsed
    }
}

/// The wait of one task on the engine's clock.
private final class EngineDelay: Sendable {
    /// The ways in which a wait ends.
    enum End { case elapsed, cancelled, engineEnded }

    private struct State {
        /// The continuation of the task, until the wait has ended.
        var waiter: CheckedContinuation<End, Never>?
        var end: End?
        /// The timer, which only the engine thread touches.
        var timer: EngineTimer?
    }

    /// The target of the timer. The loop releases its targets when it ends, which ends the wait too.
    private final class Target: EngineTimerTarget {
        private let delay: EngineDelay

        init(_ delay: EngineDelay) { self.delay = delay }

        deinit { delay.finish(.engineEnded) }

        func timerIsDue() {
            delay.finish(.elapsed)
            // The timer keeps its target, and the target keeps the delay.
            delay.forgetTimer()
        }
    }

    private let state = Locked(State())

    /// Stores the continuation. Returns `false` if the wait has already ended; the continuation is resumed then.
    func begin(_ waiter: CheckedContinuation<End, Never>) -> Bool {
        let end = state.withLock { state in
            if state.end == nil { state.waiter = waiter }
            return state.end
        }
        if let end { waiter.resume(returning: end) }
        return end == nil
    }

    func setTimer(on loop: EventLoop, at instant: EngineInstant) {
        // A timer of a loop that is about to end would never fire.
        guard !loop.mustEnd else { return finish(.engineEnded) }
        guard state.withLock({ $0.end }) == nil else { return }
        let timer = EngineTimer(Target(self))
        state.withLock { $0.timer = timer }
        loop.set(timer, at: instant)
    }

    fileprivate func forgetTimer() { state.withLock { $0.timer = nil } }

    func removeTimer(from loop: EventLoop) {
        let timer = state.withLock { state in
            defer { state.timer = nil }
            return state.timer
        }
        if let timer { loop.cancel(timer) }
    }

    /// Resumes the task with the first end. Later ends have no effect.
    func finish(_ end: End) {
        let waiter = state.withLock { state -> CheckedContinuation<End, Never>? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: end)
    }
}
