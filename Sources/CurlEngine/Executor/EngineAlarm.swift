/// A call at an instant of an engine's clock, for an owner on any thread.
///
/// Until the instant an alarm takes some 200 bytes, so that many thousands can wait. A task that waits
/// (``EngineExecutor/delay(until:of:)``) takes two kilobytes.
package final class EngineAlarm: EngineTimerTarget, @unchecked Sendable {
    // Unchecked: the timer is only touched on the engine thread, and all other members are constants.
    private let executor: EngineExecutor
    private let body: @Sendable () -> Void
    /// The timer while it is set.
    private var timer: EngineTimer?

    /// Creates an alarm, which is never due if the engine ends before.
    ///
    /// - Parameter body: A closure that is called once, on the engine thread: it is short, and calls no code of the user's.
    package init(on executor: EngineExecutor, at instant: EngineInstant, _ body: @escaping @Sendable () -> Void) {
        self.executor = executor
        self.body = body
        executor.submit { self.set(at: instant) }
    }

    private func set(at instant: EngineInstant) {
        let loop = executor.engineLoop
        // A timer of a loop that is about to end would never fire.
        guard !loop.mustEnd else { return }
        let timer = loop.makeTimer(self)
        self.timer = timer
        loop.set(timer, at: instant)
    }

    /// Gives the timer back to the loop. The timer and the alarm refer to each other until then.
    private func discardTimer() {
        guard let timer else { return }
        self.timer = nil
        executor.engineLoop.discard(timer)
    }

    /// Prevents the call, unless it has begun.
    package func cancel() { executor.submit { self.discardTimer() } }

    /// Makes the call.
    package func timerIsDue() {
        discardTimer()
        body()
    }
}
