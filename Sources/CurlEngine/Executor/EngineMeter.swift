import CCurl
import Synchronization

/// The counters of an engine thread. The engine writes them; any thread may read them.
package final class EngineMeter: Sendable {
    /// The system's clock for the processor time of the engine thread; zero before the thread has started.
    private let clock = Atomic<Int32>(0)
    /// The instant on the system's clock, in nanoseconds, at which the present turn of the loop has begun; zero while the thread sleeps.
    private let turnStart = Atomic<UInt64>(0)
    /// Whether the system has refused the thread, which has not started since.
    private let refused = Atomic(false)
    private let wakeUps = Atomic<Int>(0)
    private let wakeUpsByEngines = Atomic<Int>(0)
    /// The processor time of the thread in nanoseconds at the last sample.
    private let sampledTime = Atomic<UInt64>(0)
    /// The instant of the last sample, in nanoseconds.
    private let sampledAt = Atomic<UInt64>(0)
    /// Receives the share of the time in which the thread has used a processor, about ten times a second while the engine works.
    private let onSample: (@Sendable (_ share: Double) -> Void)?

    /// The time between two samples, in nanoseconds.
    private static let interval: UInt64 = 100_000_000

    init(onSample: (@Sendable (Double) -> Void)?) { self.onSample = onSample }

    // MARK: Calls from any thread

    /// The number of times that other threads have woken the engine thread from its sleep.
    package var wakeUpCount: Int { wakeUps.load(ordering: .relaxed) }

    /// The number of times that threads of other engines have woken the engine thread from its sleep.
    package var wakeUpByEngineCount: Int { wakeUpsByEngines.load(ordering: .relaxed) }

    /// The processor time that the engine thread has used so far.
    package var busyTime: Duration {
        let clock = clock.load(ordering: .relaxed)
        let time = clock == 0 ? 0 : ccurl_clock_ns(clock)
        return .nanoseconds(Int64(clamping: max(time, sampledTime.load(ordering: .relaxed))))
    }

    /// The time for which the present turn of the loop has lasted; zero while the thread sleeps.
    package var turnTime: Duration {
        let start = turnStart.load(ordering: .relaxed)
        guard start > 0 else { return .zero }
        let now = MonotonicClock.now().nanoseconds
        return .nanoseconds(Int64(clamping: max(now, start) - start))
    }

    /// Whether the system has refused the thread, which has not started since.
    package var isRefused: Bool { refused.load(ordering: .relaxed) }

    /// Counts a wake-up by the calling thread.
    func countWakeUp() {
        wakeUps.add(1, ordering: .relaxed)
        if CallingThread.isEngine { wakeUpsByEngines.add(1, ordering: .relaxed) }
    }

    /// Records that the system has refused the thread.
    func threadIsRefused() { refused.store(true, ordering: .relaxed) }

    // MARK: Calls from the engine thread

    /// Records that the thread has started.
    func threadHasStarted() {
        refused.store(false, ordering: .relaxed)
        clock.store(ccurl_thread_cpu_clock(), ordering: .relaxed)
        sampledTime.store(0, ordering: .relaxed)
        let now = MonotonicClock.now().nanoseconds
        sampledAt.store(now, ordering: .relaxed)
        // The first work runs before the first turn of the loop.
        turnStart.store(now, ordering: .relaxed)
    }

    /// Records that the thread is about to end.
    func threadWillEnd() {
        sampledTime.store(ccurl_clock_ns(clock.load(ordering: .relaxed)), ordering: .relaxed)
        clock.store(0, ordering: .relaxed)
        turnStart.store(0, ordering: .relaxed)
    }

    /// Records that the thread is about to sleep.
    func willSleep() { turnStart.store(0, ordering: .relaxed) }

    /// Records that a turn of the loop begins.
    func turnBegins(at now: EngineInstant) {
        turnStart.store(now.nanoseconds, ordering: .relaxed)
        guard let onSample else { return }
        let last = sampledAt.load(ordering: .relaxed)
        guard now.nanoseconds > last, now.nanoseconds - last >= Self.interval else { return }
        let (time, before) = (ccurl_clock_ns(clock.load(ordering: .relaxed)), sampledTime.load(ordering: .relaxed))
        sampledTime.store(time, ordering: .relaxed)
        sampledAt.store(now.nanoseconds, ordering: .relaxed)
        onSample(Double(time > before ? time - before : 0) / Double(now.nanoseconds - last))
    }
}
