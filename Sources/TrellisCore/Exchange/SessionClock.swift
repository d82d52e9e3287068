package import CurlEngine

/// A clock with an engine side of its own, such as a test's.
package protocol SessionClock: Clock<Duration> {
    /// The clock as a session's engines see it.
    var engineSide: any EngineClock { get }
}

extension Clock<Duration> {
    /// The clock as a session's engines see it.
    var engineClock: any EngineClock {
        switch self {
        case let clock as any SessionClock: clock.engineSide
        case is ContinuousClock, is SuspendingClock: MonotonicClock.system
        default: AdaptedClock(self)
        }
    }
}

/// Any other clock as a session's engines see it. A task sleeps until the engines' next timer is due, and then wakes them.
private final class AdaptedClock<Base: Clock>: EngineClock where Base.Duration == Duration {
    private struct State {
        var wakes: [@Sendable () -> Void] = []
        /// The task that sleeps, and its instant.
        var alarm: (instant: EngineInstant, task: Task<Void, Never>)?
    }

    /// The instant at which the engines' time line begins, so that no instant is zero.
    private static var origin: EngineInstant { EngineInstant(nanoseconds: 1_000_000_000) }

    private let base: Base
    private let start: Base.Instant
    private let state = Locked(State())

    init(_ base: Base) { (self.base, start) = (base, base.now) }

    deinit { state.withLock { $0.alarm }?.task.cancel() }

    func now() -> EngineInstant { Self.origin.advanced(by: start.duration(to: base.now)) }

    func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
        if deadline <= now { return 0 }
        setAlarm(at: deadline)
        return nil
    }

    func onAdvance(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wakes.append(wake) } }

    /// Sets the alarm, unless an earlier one is set.
    private func setAlarm(at instant: EngineInstant) {
        let time = Duration.nanoseconds(instant.nanoseconds(since: Self.origin))
        let (base, target) = (base, start.advanced(by: time))
        let replaced = state.withLock { state -> Task<Void, Never>? in
            if let alarm = state.alarm, alarm.instant <= instant { return nil }
            defer {
                state.alarm = (
                    instant,
                    Task(executorPreference: globalConcurrentExecutor) { [weak self] in
                        if (try? await base.sleep(until: target, tolerance: nil)) != nil { self?.ring(instant) }
                    }
                )
            }
            return state.alarm?.task
        }
        replaced?.cancel()
    }

    private func ring(_ instant: EngineInstant) {
        let wakes = state.withLock { state in
            if state.alarm?.instant == instant { state.alarm = nil }
            return state.wakes
        }
        for wake in wakes { wake() }
    }
}
