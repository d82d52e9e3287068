import CCurl

/// The engine thread as an executor. The session's actors, its request actors and the connections share one thread, so that an event of a
/// connection enters an actor without a thread switch and without a lock.
///
/// The executor is also a `TaskExecutor`: a task that prefers it needs no thread switch on its way into a session and back. The thread
/// starts with the first work and ends with ``shutDown()``. Work that arrives later still runs, one item after the other, on a short-lived
/// thread, so that no task waits forever.
@usableFromInline package final class EngineExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // Unchecked: `queue` has its lock, and `loop`, `batch`, `position` and `leftovers` are only accessed on the engine thread. There is
    // never more than one engine thread at a time, which `WorkQueue.thread` guarantees.
    private let queue = Locked(WorkQueue())
    private let loop: EventLoop
    /// The work that was taken from the queue, accessed only on the engine thread.
    private var batch: [EngineWork] = []
    /// The number of items of the batch that were started.
    private var position = 0
    /// The objects that are released on the pool after the present work, accessed only on the engine thread.
    private var leftovers: [any Sendable] = []

    /// The counters of the thread.
    package let meter: EngineMeter

    /// Starts a thread for the executor; returns zero or an `errno`.
    private let start: @Sendable (EngineExecutor, @escaping @Sendable () -> Void) -> Int32

    /// Creates an executor whose timers follow `clock`.
    ///
    /// - Parameter onSample: Receives the share of the time in which the thread has used a processor, about ten times a second while the
    ///   engine works. Called on the engine thread.
    package convenience init(
        clock: any EngineClock = MonotonicClock.system, onSample: (@Sendable (_ share: Double) -> Void)? = nil
    ) {
        self.init(clock: clock, onSample: onSample) { EngineThread.start(for: $0, $1) }
    }

    /// Creates an executor with another way to start its thread, for tests.
    init(
        clock: any EngineClock, onSample: (@Sendable (_ share: Double) -> Void)? = nil,
        start: @escaping @Sendable (EngineExecutor, @escaping @Sendable () -> Void) -> Int32
    ) {
        meter = EngineMeter(onSample: onSample)
        loop = EventLoop(clock: clock, meter: meter)
        self.start = start
        // Only a clock that is set by hand needs to wake the loop. A weak reference, once made, slows down every other reference.
        if !(clock is MonotonicClock) { clock.onAdvance { [weak self] in self?.submit {} } }
    }

    // MARK: Work

    /// Adds a job of an actor that lives on the engine thread, or of a task that prefers it.
    @usableFromInline package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Runs `body` on the engine thread as soon as that thread is free. Calls and jobs run in the order in which they were added.
    @usableFromInline package func submit(_ body: @escaping @Sendable () -> Void) { add(.call(body)) }

    /// Runs the call of an actor as soon as the engine thread is free.
    @usableFromInline package func submit(_ entry: EngineEntry) { add(.entry(entry)) }

    /// Runs the call of an actor with a reply as soon as the engine thread is free.
    @usableFromInline package func submit(_ entry: EngineReplyEntry) { add(.replyEntry(entry)) }

    private func add(_ work: EngineWork) {
        switch queue.withLock({ $0.add(work) }) {
        case .nothing: break
        case .wake: wake()
        case .startThread: startThread(isLate: false)
        case .runLate: startThread(isLate: true)
        }
    }

    private func wake() {
        // The engine thread sleeps, so its loop is open, and `signallers` keeps the loop open.
        if let descriptor = loop.wakeUpDescriptor { Poller.signal(descriptor) }
        meter.countWakeUp()
        queue.withLock { $0.signallers -= 1 }
    }

    /// Lets objects be released on the pool, all of one turn together. Only for code on the engine thread.
    func releaseOnPool(_ objects: [any Sendable]) {
        guard !objects.isEmpty else { return }
        leftovers += objects
        guard leftovers.count == objects.count else { return }
        // At the next work of the engine, the owners are gone, and these references are the last of the engine thread.
        submit { [self] in
            let kept = Locked(leftovers)
            leftovers = []
            Task<Void, Never>(executorPreference: globalConcurrentExecutor) {
                let released = kept.withLock { objects in
                    defer { objects = [] }
                    return objects
                }
                withExtendedLifetime(released) {}
            }
        }
    }

    // MARK: Isolation

    /// Whether the caller is on the engine thread.
    package var isCurrent: Bool { EngineThread.isCurrent(self) }

    /// Whether the system refuses the engine thread, so that no work runs at present.
    package var isRefused: Bool { meter.isRefused }

    /// Returns whether the caller is on the engine thread. The runtime asks.
    @usableFromInline package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Traps if the caller is not on the engine thread.
    @usableFromInline package func checkIsolated() {
        precondition(isCurrent, "This must run on the engine thread of its session")
    }

    /// The current instant on the engine's clock, read once per turn of the loop. Only for code on the engine thread.
    package var now: EngineInstant {
        assert(isCurrent)
        return loop.now
    }

    /// The engine's clock.
    package var clock: any EngineClock { loop.clock }
    /// The current instant on the engine's clock, read now. For code on any thread.
    package var latest: EngineInstant { loop.latest }

    /// The loop. Only for code on the engine thread.
    package var engineLoop: EventLoop {
        assert(isCurrent)
        return loop
    }

    // MARK: Life

    /// Whether the thread has started, even if it has ended since.
    package var hasStarted: Bool { queue.withLock { $0.hasStarted } }

    /// Ends the thread after the work that is queued now has run, and waits until the thread has ended.
    package func shutDown() async {
        await withContinuation { continuation in stop { continuation.resume() } }
    }

    /// Ends the thread like ``shutDown()``, without waiting. `whenEnded` is called when the thread has ended.
    package func stop(whenEnded: (@Sendable () -> Void)? = nil) {
        let hasNoThread = queue.withLock { queue in
            if queue.thread == .notStarted { queue.thread = .ended }
            return queue.thread == .ended
        }
        if hasNoThread {
            whenEnded?()
        } else {
            submit { [self] in loop.stop(whenEnded: whenEnded) }
        }
    }

    /// Starts the thread. If the system refuses a thread, for example because of a limit on processes, the work stays in the queue and
    /// the start is tried again.
    private func startThread(isLate: Bool) {
        let code = start(self) { [self] in
            if isLate { runLateWork() } else { run() }
        }
        guard code != 0 else { return }
        if !isLate { meter.threadIsRefused() }
        Task(executorPreference: globalConcurrentExecutor) {
            try? await Task.sleep(for: Self.restartDelay)
            self.startThread(isLate: isLate)
        }
    }

    /// The time from a refused start of the thread to the next.
    private static let restartDelay = Duration.milliseconds(20)

    /// Runs the engine thread from its start to its end.
    ///
    /// As soon as possible, the loop runs inside a job of this executor. The runtime then knows the executor of the thread, and needs to
    /// compare only two words to find that an event of a connection may enter an actor of this executor.
    private func run() {
        meter.threadHasStarted()
        // The executor may have been created long before.
        loop.readClocks()
        let resident = LoopActor(executor: self)
        Task.immediate { await resident.occupy() }
        work()
        meter.threadWillEnd()
        end()
    }

    /// The actor whose job runs the loop.
    private actor LoopActor: EngineActor {
        let executor: EngineExecutor
        let executorReference: ExecutorReference
        init(executor: EngineExecutor) {
            self.executor = executor
            executorReference = executor.executorReference
        }
        func occupy() { executor.work() }
    }

    /// The maximum number of turns in which the loop runs work that was added after the executor was stopped.
    private static let lastTurns = 100

    private func work() {
        // Work leads to further work. A task that yields without end must not keep the loop open.
        var rest = Self.lastTurns
        while !loop.mustEnd || rest > 0 && queue.withLock({ !$0.pending.isEmpty }) {
            if loop.mustEnd { rest -= 1 }
            runBatch()
            queue.withLock { queue in swap(&queue.pending, &batch) }
            if !batch.isEmpty { loop.readClocks() }
            runBatch()
            loop.turn {
                queue.withLock { $0.sleep() }
            } isAwake: {
                queue.withLock { $0.thread = .running }
            }
        }
    }

    private func end() {
        while queue.withLock({ $0.signallers > 0 }) { ccurl_thread_yield() }
        let whenEnded = loop.tearDown()
        let isLeftOver = queue.withLock { queue in
            queue.thread = .ended
            return !queue.pending.isEmpty
        }
        for body in whenEnded { body() }
        if isLeftOver { runLateWork() }
    }

    /// Runs the work that was added after the end, until none is left.
    private func runLateWork() {
        // The loop of an engine that ended before its first work was never open.
        for body in loop.tearDown() { body() }
        var isDone = false
        while !isDone {
            // The work stays in the queue while it runs, so that no second thread begins to drain the queue.
            let taken = queue.withLock { $0.pending }
            batch = taken
            runBatch()
            isDone = queue.withLock { queue in
                queue.pending.removeFirst(taken.count)
                return queue.pending.isEmpty
            }
            // Released without the lock: objects that only the work refers to may add further work when they are released.
            withExtendedLifetime(taken) {}
        }
    }

    /// Runs the rest of the batch. A job of the batch may itself be the loop, which continues after that job.
    private func runBatch() {
        while position < batch.count {
            let work = batch[position]
            position += 1
            run(work)
        }
        guard position > 0 else { return }
        // The memory of a large burst is released.
        batch.removeAll(keepingCapacity: batch.count <= 1_024)
        position = 0
    }

    private func run(_ work: EngineWork) {
        switch work {
        case .job(let job):
            unsafe job.runSynchronously(
                isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .entry(let entry): entry.run()
        case .replyEntry(let entry): entry.run()
        case .call(let body): body()
        }
    }
}
