extension EngineExecutor {
    /// Suspends the calling task for a duration on the engine's clock.
    ///
    /// - Parameter call: The call that waits, for the clock; `nil` if none does.
    /// - Returns: `false` if the engine ended before the time.
    /// - Throws: `CancellationError` in a cancelled task, at once.
    package func delay(for duration: Duration, of call: (any AnyObject & Sendable)? = nil) async throws -> Bool {
        // The time begins with the call, and not when the engine thread comes to it.
        try await delay(until: latest.advanced(by: duration), of: call)
    }

    /// Suspends the calling task as ``delay(for:of:)`` does, until an instant of the engine's clock.
    ///
    /// - Parameter isLimit: Whether the time is the limit on something else that the call waits for.
    package func delay(
        until instant: EngineInstant, of call: (any AnyObject & Sendable)? = nil, isLimit: Bool = false
    ) async throws -> Bool {
        let delay = EngineDelay(of: call, isLimit: isLimit)
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
        /// The clock that knows of the wait; `nil` if none does.
        var clock: (any EngineClock)?
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
    private let call: (any AnyObject & Sendable)?
    private let isLimit: Bool
    /// The work that rests during the wait, such as a refresh; `nil` if a call waits, or there is none.
    private let work: ClockWork?

    init(of call: (any AnyObject & Sendable)?, isLimit: Bool) {
        (self.call, self.isLimit) = (call, isLimit)
        work = call == nil ? ClockWork.current : nil
    }

    private func noteBegin(on clock: any EngineClock) {
        work?.pause()
        clock.noteWait(of: call, isLimit: isLimit, begins: true)
    }

    private func noteEnd(on clock: any EngineClock) {
        work?.resume()
        clock.noteWait(of: call, isLimit: isLimit, begins: false)
    }

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
        let timer = EngineTimer(Target(self))
        // Before another thread can end the wait, and note that: the clock must not learn of the end first.
        noteBegin(on: loop.clock)
        let hasEnded = state.withLock { state in
            guard state.end == nil else { return true }
            (state.timer, state.clock) = (timer, loop.clock)
            return false
        }
        if hasEnded { return noteEnd(on: loop.clock) }
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
        let (waiter, clock) = state.withLock { state -> (CheckedContinuation<End, Never>?, (any EngineClock)?) in
            guard state.end == nil else { return (nil, nil) }
            state.end = end
            defer { (state.waiter, state.clock) = (nil, nil) }
            return (state.waiter, state.clock)
        }
        // Before the task continues: a call that runs does not wait.
        if let clock { noteEnd(on: clock) }
        waiter?.resume(returning: end)
    }
}
