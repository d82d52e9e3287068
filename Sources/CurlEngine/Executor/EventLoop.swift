import CCurl

/// A delivery to a task on another thread, which can wait until the engine thread has no other work.
package protocol DeferredDelivery: AnyObject {
    /// Delivers everything that is ready. Called on the engine thread.
    func deliver()
}

/// The loop of the engine thread, which waits for sockets and timers between jobs. The loop belongs to the engine thread.
package final class EventLoop {
    let clock: any EngineClock
    let usesSystemClock: Bool
    private let meter: EngineMeter
    // Exclusivity is unchecked, here and for the deliveries: one thread uses these values, and no access to one of them calls other code.
    @exclusivity(unchecked) private var timers = TimerHeap()
    /// The timers on the system's clock, if that is not the engine's clock.
    @exclusivity(unchecked) private var systemTimers = TimerHeap()
    /// The timers that were returned, for the next callers of ``makeTimer(_:)``.
    @exclusivity(unchecked) private var spareTimers: [EngineTimer] = []
    private static let maximumSpareTimers = 256
    private var poller: Poller?
    private var isStopping = false
    private var isTornDown = false
    private var whenEnded: [@Sendable () -> Void] = []
    /// The engine whose sockets and deadlines the loop serves, if it has one.
    private var engine: CurlEngine?

    /// The current instant on the engine's clock, read once per turn.
    package var now: EngineInstant { presentInstant }
    private var presentInstant: EngineInstant
    /// The current instant on the engine's clock, read now.
    package var latest: EngineInstant { clock.now() }
    /// The current instant on the system's clock, read once per turn.
    private(set) var systemNow: EngineInstant

    init(clock: any EngineClock, meter: EngineMeter) {
        self.clock = clock
        self.meter = meter
        usesSystemClock = clock is MonotonicClock
        presentInstant = clock.now()
        systemNow = MonotonicClock.now()
    }

    // MARK: Timers

    /// Returns a timer that is not set, and which its owner returns through ``discard(_:)``.
    package func makeTimer(_ target: any EngineTimerTarget) -> EngineTimer {
        guard let timer = unsafe spareTimers.popLast() else { return EngineTimer(target) }
        timer.target = target
        return timer
    }

    /// Sets a timer of the framework, or moves a timer that is already set.
    package func set(_ timer: EngineTimer, at deadline: EngineInstant) { unsafe timers.set(timer, at: deadline) }

    /// Sets or moves a timer that waits for other threads, for libcurl or for the network, and not for a limit of a caller. Its instant is
    /// on the system's clock (``systemNow``). Such a timer is cancelled by ``cancelOnSystem(_:)``.
    func set(_ timer: EngineTimer, onSystemAt deadline: EngineInstant) {
        if usesSystemClock { return unsafe timers.set(timer, at: deadline) }
        unsafe systemTimers.set(timer, at: deadline)
    }

    /// Cancels a timer.
    package func cancel(_ timer: EngineTimer) { unsafe timers.remove(timer) }

    /// Cancels a timer that was set on the system's clock.
    func cancelOnSystem(_ timer: EngineTimer) {
        if usesSystemClock { return unsafe timers.remove(timer) }
        unsafe systemTimers.remove(timer)
    }

    /// Cancels a timer that its owner does not use any more. The loop lends it to another owner.
    package func discard(_ timer: EngineTimer) {
        unsafe timers.remove(timer)
        timer.target = nil
        if unsafe spareTimers.count < Self.maximumSpareTimers { unsafe spareTimers.append(timer) }
    }

    /// The number of timers that are set; zero in an idle engine.
    package var timerCount: Int { unsafe timers.count + systemTimers.count }

    /// The instant of the next timer; `nil` if none is set.
    package var nextTimer: EngineInstant? { unsafe timers.nextDeadline }

    // MARK: Turns

    func attach(_ engine: CurlEngine) { self.engine = engine }

    /// Watches a socket, as ``Poller/watch(_:generation:for:)`` does.
    func watch(_ descriptor: Int32, generation: UInt32, for interest: SocketInterest) -> Bool {
        // A job may be run before the first turn.
        (isTornDown || open()) && poller?.watch(descriptor, generation: generation, for: interest) == true
    }

    /// Lets the engine close idle connections at once.
    func giveUpIdleConnections() { engine?.giveUpIdleConnections() }

    func closeIdleConnections(to origin: String?) { engine?.closeIdleConnections(to: origin) }

    /// The descriptor that wakes the loop. It exists from the first turn until ``tearDown()``.
    var wakeUpDescriptor: Int32? { poller?.wakeUpDescriptor }

    /// Opens the poller if there is none yet. Returns `false` if the process has no descriptors left at present.
    func open() -> Bool {
        if poller == nil { poller = Poller() }
        return poller != nil
    }

    /// Runs one turn: waits (unless `maySleep` returns `false`, because there is work), then handles ready sockets, due timers and
    /// deliveries.
    func turn(maySleep: () -> Bool, isAwake: () -> Void) {
        guard open(), let waited = wait(maySleep: maySleep, isAwake: isAwake) else {
            ccurl_thread_sleep_ms(1)
            readClocks()
            fireTimers()
            return runDeliveries(isQuiet: true)
        }
        hasOneReadySocket = waited.count == 1
        defer { hasOneReadySocket = false }
        for ready in waited { engine?.socketIsReady(ready) }
        fireTimers()
        // Without transfers, no socket becomes ready for another delivery.
        runDeliveries(isQuiet: waited.isEmpty || engine?.hasTransfers == false)
    }

    // MARK: Deliveries

    /// Whether one socket alone is ready in this turn, so that there is nothing for which a delivery should wait.
    private(set) var hasOneReadySocket = false
    /// The deliveries that wait for a turn without ready sockets.
    @exclusivity(unchecked) private var deliveries: [any DeferredDelivery] = []
    /// The number of turns for which deliveries have waited.
    private var turnsWithDeliveries = 0
    private static let maximumTurnsWithDeliveries = 4
    /// The empty array that becomes ``deliveries`` in the next turn that delivers.
    @exclusivity(unchecked) private var spareDeliveries: [any DeferredDelivery] = []
    /// The number of deliveries beyond which an array gives its memory to the allocator.
    private static let maximumSpareCapacity = 1_024

    /// Calls `delivery`, which wakes a task on another thread, once no socket is ready, or after a few turns at the latest.
    ///
    /// Waking a task costs more than most of the engine's work for a small request. If several tasks are woken in direct succession, a
    /// thread is mostly woken only once.
    package func deliverSoon(_ delivery: any DeferredDelivery) {
        // After the end of the loop, no turn would run the delivery.
        if isTornDown { delivery.deliver() } else { unsafe deliveries.append(delivery) }
    }

    private func runDeliveries(isQuiet: Bool) {
        guard unsafe !deliveries.isEmpty else { return }
        turnsWithDeliveries += 1
        guard isQuiet || turnsWithDeliveries >= Self.maximumTurnsWithDeliveries else { return }
        turnsWithDeliveries = 0
        // Two arrays take turns, so that neither is copied or allocated again.
        var batch = unsafe spareDeliveries
        unsafe spareDeliveries = []
        unsafe swap(&batch, &deliveries)
        for delivery in batch { delivery.deliver() }
        batch.removeAll(keepingCapacity: batch.count <= Self.maximumSpareCapacity)
        unsafe spareDeliveries = batch
    }

    // Exclusivity is unchecked: only ``wait(maySleep:isAwake:)`` uses the array.
    @exclusivity(unchecked) private var readySockets: [ReadySocket] = []

    private func wait(maySleep: () -> Bool, isAwake: () -> Void) -> [ReadySocket]? {
        guard let poller else { return nil }
        engine?.flush(now: systemNow)
        let limit = unsafe isStopping || !deliveries.isEmpty ? 0 : sleepLimit()
        let sleeps = limit != 0 && maySleep()
        unsafe readySockets.removeAll(keepingCapacity: true)
        if sleeps { meter.willSleep() }
        poller.wait(nanoseconds: sleeps ? limit : 0) { unsafe readySockets.append($0) }
        if sleeps { isAwake() }
        readClocks()
        meter.turnBegins(at: systemNow)
        return unsafe readySockets
    }

    /// Reads the clocks for all work up to the next turn.
    func readClocks() {
        systemNow = MonotonicClock.now()
        presentInstant = usesSystemClock ? systemNow : clock.now()
    }

    private func sleepLimit() -> UInt64? {
        var limit: UInt64?
        if let deadline = unsafe timers.nextDeadline {
            // A timer that is due fires even if the clock stands still.
            limit = deadline <= now ? 0 : clock.sleep(until: deadline, from: now)
        }
        if let deadline = engine?.nextDeadline { limit = min(limit ?? .max, untilSystem(deadline)) }
        if let deadline = unsafe systemTimers.nextDeadline { limit = min(limit ?? .max, untilSystem(deadline)) }
        return limit
    }

    /// The nanoseconds up to an instant on the system's clock.
    private func untilSystem(_ deadline: EngineInstant) -> UInt64 {
        deadline > systemNow ? deadline.nanoseconds - systemNow.nanoseconds : 0
    }

    private func fireTimers() {
        while let timer = unsafe timers.popDue(at: now) ?? systemTimers.popDue(at: systemNow) {
            timer.target?.timerIsDue()
        }
    }

    // MARK: End

    /// Ends the thread as soon as there is no more work.
    func stop(whenEnded body: (@Sendable () -> Void)?) {
        guard !isTornDown else {
            body?()
            return
        }
        isStopping = true
        if let body { whenEnded.append(body) }
    }

    /// Whether the loop has ended, or ends as soon as there is no more work.
    var mustEnd: Bool { isStopping || isTornDown }

    /// Closes everything and returns the closures to call at the end.
    func tearDown() -> [@Sendable () -> Void] {
        runDeliveries(isQuiet: true)
        engine?.close()
        engine = nil
        var unfired = unsafe timers
        unsafe timers = TimerHeap()
        unfired.removeAll()
        unsafe swap(&unfired, &systemTimers)
        unfired.removeAll()
        unsafe spareTimers = []
        isTornDown = true
        poller = nil
        defer { whenEnded = [] }
        return whenEnded
    }
}
