import CurlEngine
import FoundationEssentials
import Synchronization

/// One call with everything that surrounds its attempts. Lives on the engine thread, like its attempts.
///
/// What it does, the journey, runs in a task of its own on the pool, so that no step of the user's ever runs on the engine
/// thread, and so that a call ends at its deadline or when it is cancelled even if a step takes no notice.
actor RequestActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let residence: EngineResidence
    /// Tells the calls of a process apart; higher is later.
    nonisolated let id: UInt64
    nonisolated let observer: CallObserver?
    /// What the caller asked for.
    nonisolated let request: Request
    /// The first attempt, where no step has a say in it, and where it was answered before there was a call.
    nonisolated let first: ExchangeActor?
    /// When the call was made; `nil`: when it is started.
    private nonisolated let start: EngineInstant?
    private nonisolated let limit: UInt64?
    nonisolated let course: Course
    private nonisolated let hasBegun = Atomic(false)
    /// What is known of the call under way.
    nonisolated let record: Locked<CallRecord>

    private var state = RequestState.initialized
    private var driver: Task<Void, Never>?
    private var timer: EngineTimer?
    /// Readers that wait, by their number. Most calls have one, and then no array.
    private var waiter: Waiter?
    private var otherWaiters: [Waiter] = []
    /// Readers that left before it was heard that they wait.
    private var early: Set<UInt64> = []
    private var isRegistered = false
    private var result: Result<StepResponse, any Error>?
    /// The attempt that was begun last; before the start the first one, where no step has a say in that.
    private(set) var attempt: ExchangeActor?
    /// Attempts beside it that had not ended when it was begun.
    private var others: [ExchangeActor] = []
    /// Made when somebody asks for it.
    nonisolated let uploadMeter = AtomicLazyReference<ProgressBroadcaster>()
    nonisolated let downloadMeter = AtomicLazyReference<ProgressBroadcaster>()

    init(
        _ request: Request, first: ExchangeActor?, start: EngineInstant?, limit: UInt64?, executor: EngineExecutor,
        hub: EventHub, course: Course, record: Locked<CallRecord>
    ) {
        self.record = record
        id = Self.count.add(1, ordering: .relaxed).newValue
        observer = hub.isObserved ? CallObserver(hub: hub, id: id, clock: course.session.clock) : nil
        self.request = request
        self.first = first
        self.start = start
        attempt = first
        self.limit = limit
        self.executor = executor
        self.course = course
        residence = executor.residence
        observer?.tell(.created(request))
    }

    private struct Waiter {
        let reader: UInt64
        let reply: Reply<StepResponse>
    }

    private static let count = Atomic<UInt64>(0)

    // MARK: Called by handles, from anywhere

    /// The answer, for one more reader. Starts the call, unless it was started. A cancelled task leaves it to the other readers;
    /// with the last of them the call ends.
    ///
    /// - Parameter conditions: What the reader accepts; `nil`: any answer.
    nonisolated func answer(_ conditions: ReadingConditions?) async throws -> StepResponse {
        let reader = Self.readerCount.add(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.wait(reader, with: reply, conditions) }
                begin()
            }
        } onCancel: {
            executor.submit { self.onEngineThread.leave(reader) }
        }
    }

    /// As ``answer(_:)``, for a reader that accepts any answer.
    nonisolated func answer() async throws -> StepResponse { try await answer(nil) }

    private static let readerCount = Atomic<UInt64>(0)

    /// Starts the call, or lets it go on.
    ///
    /// - Parameter conditions: What is required of the answer whoever reads it; `nil`: nothing.
    nonisolated func resume(_ conditions: ReadingConditions? = nil) {
        enter { $0.start(conditions) }
        begin()
    }

    nonisolated func suspend() { enter { $0.handle(.suspend) } }

    nonisolated func end(_ error: any Error) { enter { $0.cancel(error) } }

    /// In the task that asks first: its priority and its task-local values are the journey's.
    private nonisolated func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        let clock = course.session.clock
        let deadline = CallDeadline(start: start ?? clock.now(), limit: limit, clock: clock)
        let driver = Task(executorPreference: globalConcurrentExecutor) { [course] in
            let result: Result<StepResponse, any Error>
            do { result = .success(try await course.answer(of: self, deadline)) } catch { result = .failure(error) }
            self.executor.submit { self.onEngineThread.arrive(result) }
        }
        executor.submit { self.onEngineThread.began(driver, deadline) }
    }

    // MARK: On the engine thread

    var currentState: RequestState { state }

    /// It belongs to something that the session knows: it may start while the session drains.
    nonisolated var isInFlight: Bool { course.isInFlight }

    func wait(_ reader: UInt64, with reply: Reply<StepResponse>, _ conditions: ReadingConditions?) {
        let hasLeft = early.remove(reader) != nil
        if let result { return reply.resume(with: hasLeft ? .failure(CancellationError()) : result) }
        record.withLock { $0.conditions.add(conditions) }
        guard register() else { return reply.resume(with: result ?? .failure(CancellationError())) }
        let waiter = Waiter(reader: reader, reply: reply)
        if self.waiter == nil { self.waiter = waiter } else { otherWaiters.append(waiter) }
        if hasLeft { leave(reader) } else { handle(.begin) }
    }

    /// A reader's task was cancelled.
    func leave(_ reader: UInt64) {
        guard !state.isFinished else { return }
        if let waiter, waiter.reader == reader {
            self.waiter = otherWaiters.isEmpty ? nil : otherWaiters.removeFirst()
            waiter.reply.resume(with: .failure(CancellationError()))
        } else if let index = otherWaiters.firstIndex(where: { $0.reader == reader }) {
            otherWaiters.remove(at: index).reply.resume(with: .failure(CancellationError()))
        } else {
            early.insert(reader)
            return
        }
        if waiter == nil { cancel(CancellationError()) }
    }

    private func start(_ conditions: ReadingConditions?) {
        if let conditions { record.withLock { $0.conditions.add(conditions) } }
        if register() { handle(.resume) }
    }

    /// Tells the session of the call, once, when it starts. `false`: it has ended, or the session takes no more calls.
    private func register() -> Bool {
        guard !state.isFinished else { return false }
        if isRegistered { return true }
        isRegistered = course.session.actor.callsOnEngineThread.begin(
            self, following: course.answered == nil ? nil : first)
        if !isRegistered { cancel(TrellisError(.cancelled(.sessionShutDown))) }
        // A redirect that answers it is followed by this call, which the session knows already.
        if isRegistered, course.answered == nil { first?.onEngineThread.joinCall() }
        return isRegistered
    }

    func began(_ driver: Task<Void, Never>, _ deadline: CallDeadline) {
        guard !state.isFinished else { return driver.cancel() }
        self.driver = driver
        guard let end = deadline.end else { return }
        let timer = EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: end)
    }

    func cancel(_ error: any Error) {
        guard !state.isFinished else { return }
        fail(error, .cancel)
    }

    func arrive(_ result: Result<StepResponse, any Error>) {
        guard !state.isFinished else { return }
        self.result = result.mapError(completed)
        // The session's end is that of its calls.
        if case .failure(let error as TrellisError) = result, error.isCancellation { return handle(.cancel) }
        handle(.finish)
    }

    func deadlineIsOver() {
        guard !state.isFinished else { return }
        // The limits of those under way are over at the same moment, or were just now.
        let late = (attempt?.onEngineThread.failure as? TrellisError).flatMap {
            $0.reason == .timedOut(.total) ? $0 : nil
        }
        fail(late ?? overdue, .finish) { $0.timerFired() }
    }

    /// - Parameter end: How attempts under way end, if not with the error.
    private func fail(
        _ error: any Error, _ event: RequestState.Event, ending end: (any ExchangeEntry) -> Void = { _ in }
    ) {
        result = .failure(error)
        for attempt in underWay {
            end(attempt.onEngineThread)
            attempt.onEngineThread.cancel(error)
            // The attempt knows best what it was doing.
            if let failure = attempt.onEngineThread.failure { result = .failure(failure) }
        }
        result = result?.mapError(completed)
        handle(event)
    }

    /// The error, with what the call had sent before the request that failed, and with the call's request where it names none.
    private func completed(_ error: any Error) -> any Error {
        guard var error = error as? TrellisError else { return error }
        if error.method == nil { error.method = request.method }
        if error.url == nil { error.url = URLRedaction.redact(completeURL) }
        error.earlierTraffic = max(error.earlierTraffic, record.withLock { $0.traffic })
        return error
    }

    private var completeURL: String { (try? course.session.preparation.completingURL(of: request))?.url ?? request.url }

    /// The attempts that have not ended, the last behind the others.
    private var underWay: [ExchangeActor] {
        (others + (attempt.map { [$0] } ?? [])).filter { !$0.onEngineThread.isEnded }
    }

    /// What the caller gets at the deadline where no attempt is under way.
    private var overdue: TrellisError {
        var error = TrellisError(.timedOut(.total), method: request.method, url: completeURL)
        error.metrics.total = .nanoseconds(Int64(clamping: limit ?? 0))
        let history = attempt?.prepared.history
        error.metrics.attempts = attempt == nil ? 0 : (history?.earlierAttempts ?? 0) + 1
        error.followed = history?.redirects ?? []
        guard let wait = record.withLock({ $0.wait }) else {
            error.detail = "a step around the request was at work"
            return error
        }
        error.phase = .queued
        error.isHeldByLimit = true
        error.metrics.queuedTime = executor.now.nanoseconds(since: wait.start)
        error.detail = wait.description
        return error
    }

    /// Makes an attempt the one that the call's handles hold up and end; `false` where the call has ended.
    func enlist(_ attempt: ExchangeActor) -> Bool {
        guard !state.isFinished else { return false }
        if let last = self.attempt, last !== attempt, !last.onEngineThread.isEnded {
            others.removeAll { $0.onEngineThread.isEnded }
            others.append(last)
        }
        self.attempt = attempt
        attempt.onEngineThread.joinCall()
        measureBodies()
        if state == .suspended { attempt.onEngineThread.suspend() }
        return true
    }

    private func handle(_ event: RequestState.Event) {
        switch state.handle(event) {
        case .nothing: break
        case .pauseExchanges:
            observer?.tell(.suspended)
            for attempt in others { attempt.onEngineThread.suspend() }
            attempt?.onEngineThread.suspend()
        case .resumeExchanges:
            if event == .resume { observer?.tell(.resumed) }
            for attempt in others { attempt.onEngineThread.resume() }
            attempt?.onEngineThread.resume()
        case .end: letGo()
        }
    }

    var hasEnded: Bool { state.isFinished }

    private func letGo() {
        finishMeters()
        driver?.cancel()
        driver = nil
        if let timer { executor.engineLoop.cancel(timer) }
        timer = nil
        guard let result else { return }
        switch result {
        case .success(let answer): observer?.tell(.finished(answer.response))
        case .failure(let error): observer?.tell(.failed(error))
        }
        waiter?.reply.resume(with: result)
        for waiter in otherWaiters { waiter.reply.resume(with: result) }
        waiter = nil
        otherWaiters = []
        early = []
        if isRegistered { course.session.actor.callsOnEngineThread.didEnd(self) }
    }
}

extension RequestActor: SharedCall {}

extension RequestActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.deadlineIsOver() }
}

/// How a call is entered from code that runs on its engine thread anyway. Every call traps on any other thread.
protocol RequestEntry: AnyObject, Sendable {
    func wait(_ reader: UInt64, with reply: Reply<StepResponse>, _ conditions: ReadingConditions?)
    func leave(_ reader: UInt64)
    func began(_ driver: Task<Void, Never>, _ deadline: CallDeadline)
    func cancel(_ error: any Error)
    func arrive(_ result: Result<StepResponse, any Error>)
    func deadlineIsOver()
    func send(_ attempt: ExchangeActor, collecting reply: Reply<CollectedResponse>)
    func send(_ attempt: ExchangeActor, awaitingHead reply: Reply<Response>, inbox: BodyInbox)
}

extension RequestActor: @preconcurrency RequestEntry {
    nonisolated var onEngineThread: any RequestEntry { self }
}
