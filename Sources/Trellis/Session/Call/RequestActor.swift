import CurlEngine
import FoundationEssentials
import Synchronization

/// The actor of a call, from its creation to its end, with its state, its readers, its deadline and its exchanges under way. Lives
/// on the engine thread, like its exchanges.
///
/// A verb runs the call in the caller's task (``run(_:)``). A handle runs it in a task of its own, for any number of readers
/// (``answer(_:)``). Either way the ``Pipeline`` performs the call, and this actor ends it at its deadline, with its session and
/// when it is cancelled.
actor RequestActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    nonisolated let call: Call
    nonisolated let session: Session
    /// The session's steps and the request's.
    nonisolated let steps: AttachedSteps
    /// The number of steps around the call that have run before this actor's pipeline begins.
    nonisolated let depth: Int
    /// The first exchange, if no step can change it, or if it was answered before there was a call.
    nonisolated let first: ExchangeActor?
    /// The response that the first exchange has already received.
    nonisolated let answered: StepResponse?
    /// A Boolean value: the call is part of a download, of a refresh or of another call that the session knows, and may start
    /// while the session drains.
    nonisolated let isInFlight: Bool
    /// A Boolean value: the task that performs a handle's call was started.
    nonisolated let hasBegun = Atomic(false)

    private var state = RequestState.initialized
    private var timer: EngineTimer?
    /// The first waiting reader. Most requests have only one, and need no array.
    private var waiter: Waiter?
    /// The other waiting readers, in the order of their waits.
    private var otherWaiters: [Waiter] = []
    /// The readers whose cancellation came before their wait.
    private var early: Set<UInt64> = []
    /// A Boolean value: the session was told of the call.
    private var isRegistered = false
    private var result: Result<StepResponse, any Error>?
    /// The exchange that was begun last; before the start, the first exchange, if no step can change it.
    private(set) var exchange: ExchangeActor?
    /// The exchanges that had not ended when the last one was begun.
    private var others: [ExchangeActor] = []
    /// The progress meters, each created when its progress is first asked for.
    nonisolated let uploadMeter = AtomicLazyReference<ProgressBroadcaster>()
    nonisolated let downloadMeter = AtomicLazyReference<ProgressBroadcaster>()

    init(
        _ call: Call, session: Session, steps: AttachedSteps, depth: Int = 0, first: ExchangeActor? = nil,
        answered: StepResponse? = nil, isInFlight: Bool = false
    ) {
        self.call = call
        self.session = session
        self.steps = steps
        self.depth = depth
        self.first = first
        self.answered = answered
        self.isInFlight = isInFlight
        exchange = first
        executor = session.engine
        executorReference = session.engine.executorReference
        call.observer?.tell(.created(call.request))
    }

    /// A reader that waits for the response.
    private struct Waiter {
        let reader: UInt64
        let reply: Reply<StepResponse>
    }

    // MARK: Called by verbs

    /// Performs the call in the caller's task. The call ends with the task.
    ///
    /// - Parameter conditions: The conditions that the caller has of the response; `nil`: it accepts any.
    nonisolated func run(_ conditions: ReadingConditions? = nil) async throws -> StepResponse {
        // A task that prefers the engine's executor would run the steps on the engine thread, before the rest of the session.
        if CallingThread.isEngine { return try await answer(conditions) }
        if let conditions { call.record.withLock { $0.conditions.add(conditions) } }
        call.begin()
        submit { $0.startInCallersTask() }
        return try await withTaskCancellationHandler {
            try await steps.haveUserCode || call.request.waitsForDisk
                ? withReply { performInTask($0) } : performHere()
        } onCancel: {
            submit { $0.cancel(CancellationError()) }
        }
    }

    nonisolated func perform() async -> Result<StepResponse, any Error> {
        do { return .success(try await Pipeline(self).run()) } catch { return .failure(error) }
    }

    /// Performs the call in the caller's task itself: all that it waits for ends with the exchange.
    @inline(never)
    private nonisolated func performHere() async throws -> StepResponse {
        let result = await perform()
        return try await withReply { conclude(result, to: $0) }
    }

    /// Performs the call in a task that the deadline can cancel, whatever a step waits for. The task begins at once on the caller's
    /// thread, unless that belongs to an actor, so that steps which do not suspend cross no thread. The caller waits for its end.
    private nonisolated func performInTask(_ reply: Reply<StepResponse>) {
        // The new task would not know.
        if Task.isCancelled { return conclude(.failure(CancellationError()), to: reply) }
        keep(Task.immediate { conclude(await perform(), to: reply) })
    }

    /// Keeps the task for the moment when the call must end, which may have come already.
    nonisolated func keep(_ work: Task<Void, Never>) {
        let isDecided = call.record.withLock { record in
            if !record.isDecided { record.work = work }
            return record.isDecided
        }
        if isDecided { work.cancel() }
    }

    /// Decides on the result of a verb's call, unless the actor has ended the call before, and resumes the caller with it.
    private nonisolated func conclude(_ result: Result<StepResponse, any Error>, to reply: Reply<StepResponse>) {
        guard decide() else { return submit { $0.report(to: reply) } }
        let result = result.mapError(completed)
        tellEnd(result)
        submit { $0.settle(result) }
        reply.resume(with: result)
    }

    // MARK: On the engine thread

    var currentState: RequestState { state }

    /// Adds a waiting reader, and starts the call for the first one; resumes the reader at once if the call has ended.
    func wait(_ reader: UInt64, with reply: Reply<StepResponse>, _ conditions: ReadingConditions?) {
        let hasLeft = early.remove(reader) != nil
        if let result { return reply.resume(with: hasLeft ? .failure(CancellationError()) : result) }
        call.record.withLock { $0.conditions.add(conditions) }
        guard register() else { return reply.resume(with: result ?? .failure(CancellationError())) }
        let waiter = Waiter(reader: reader, reply: reply)
        if self.waiter == nil { self.waiter = waiter } else { otherWaiters.append(waiter) }
        if hasLeft { leave(reader) } else { handle(.begin) }
    }

    /// Ends the wait of a reader whose task was cancelled.
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

    func start(_ conditions: ReadingConditions?) {
        if let conditions { call.record.withLock { $0.conditions.add(conditions) } }
        if register() { handle(.resume) }
    }

    /// Registers a call that its caller's task performs, and sets its deadline.
    func startInCallersTask() {
        guard register() else { return }
        handle(.begin)
        setTimer()
    }

    /// Tells the session of the call, once, when it starts. Returns `false` if the call has ended or the session takes no more
    /// calls.
    private func register() -> Bool {
        guard !state.isFinished else { return false }
        if isRegistered { return true }
        let refusal = session.actor.callsOnEngineThread.begin(self, following: answered == nil ? nil : first)
        isRegistered = refusal == nil
        if let refusal { cancel(refusal) }
        // The session already knows this call, which follows any redirect of the first exchange.
        if isRegistered, answered == nil { first?.onEngineThread.joinCall() }
        return isRegistered
    }

    /// Sets the timer for the deadline, unless the call has ended or has none.
    func setTimer() {
        guard !state.isFinished, timer == nil, let end = call.deadline.end else { return }
        let timer = EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: end)
    }

    // MARK: The end

    /// Claims the right to decide on the result. Returns `false` if the result is decided already.
    private nonisolated func decide() -> Bool {
        call.record.withLock { record in
            defer { record.isDecided = true }
            return !record.isDecided
        }
    }

    /// Ends the call and its exchanges with an error.
    func cancel(_ error: any Error) { fail(error, .cancel) }

    /// Takes the result of a call that was performed in a task of its own.
    func arrive(_ result: Result<StepResponse, any Error>) {
        guard !state.isFinished, decide() else { return }
        let result = result.mapError(completed)
        tellEnd(result)
        settle(result)
    }

    /// Takes a result that is decided.
    func settle(_ result: Result<StepResponse, any Error>) {
        guard !state.isFinished else { return }
        self.result = result
        // A cancellation error, such as that of the session's shutdown, ends the request as cancelled.
        if case .failure(let error as TrellisError) = result, error.isCancellation { return handle(.cancel) }
        handle(.finish)
    }

    /// Passes the result of a call that the actor has ended to its caller.
    func report(to reply: Reply<StepResponse>) { reply.resume(with: result ?? .failure(CancellationError())) }

    func deadlineIsOver() {
        // The total limits of exchanges under way end at the same moment, or ended just before.
        let late = (exchange?.onEngineThread.failure as? TrellisError).flatMap {
            $0.reason == .timedOut(.total) ? $0 : nil
        }
        fail(late ?? overdue, .finish) { $0.totalIsOver() }
    }

    /// - Parameter end: Ends an exchange under way before it is cancelled with the error.
    private func fail(
        _ error: any Error, _ event: RequestState.Event, ending end: (any ExchangeEngineCalls) -> Void = { _ in }
    ) {
        guard !state.isFinished, decide() else { return }
        // The task is cancelled first: a retrier that is told of the exchange's failure must not begin another attempt.
        call.record.withLock { $0.work }?.cancel()
        var result = Result<StepResponse, any Error>.failure(error)
        for exchange in underWay {
            let entry = exchange.onEngineThread
            end(entry)
            entry.cancel(error)
            // The exchange's own failure names its phase.
            if let failure = entry.failure { result = .failure(failure) }
            let attempt = (exchange.prepared.history?.earlierAttempts ?? 0) + 1
            call.record(exchange.prepared, entry.finalMetrics, attempt: attempt)
        }
        result = result.mapError(completed)
        self.result = result
        tellEnd(result)
        handle(event)
    }

    private nonisolated func tellEnd(_ result: Result<StepResponse, any Error>) {
        guard let observer = call.observer else { return }
        switch result {
        case .success(let answer): observer.tell(.finished(answer.response))
        case .failure(let error): observer.tell(.failed(error))
        }
    }

    /// Returns the error, with the traffic of the call before the exchange that failed, and with the call's request if the error
    /// names none.
    private nonisolated func completed(_ error: any Error) -> any Error {
        guard var error = error as? TrellisError else { return error }
        if error.method == nil { error.method = call.request.method }
        if error.url == nil { error.url = URLRedaction.redact(completeURL) }
        error.metrics.callID = call.id
        error.earlierTraffic = max(error.earlierTraffic, call.record.withLock { $0.traffic })
        return error
    }

    nonisolated var completeURL: String {
        (try? session.preparation.completingURL(of: call.request))?.url ?? call.request.url
    }

    /// The exchanges that have not ended; the last begun comes last.
    private var underWay: [ExchangeActor] {
        (others + (exchange.map { [$0] } ?? [])).filter { exchange in !exchange.onEngineThread.isEnded }
    }

    /// The error of a deadline that passes while no exchange is under way.
    private var overdue: TrellisError {
        var error = TrellisError(.timedOut(.total), method: call.request.method, url: completeURL)
        error.metrics.total = .nanoseconds(Int64(clamping: call.limit ?? 0))
        let history = exchange?.prepared.history
        error.metrics.attemptCount = exchange == nil ? 0 : (history?.earlierAttempts ?? 0) + 1
        error.followed = history?.redirects ?? []
        guard let wait = call.record.withLock({ $0.wait }) else {
            error.detail = "a step around the request was at work"
            return error
        }
        error.phase = .queued
        error.isHeldByLimit = true
        error.metrics.queuedTime = executor.now.nanoseconds(since: wait.start)
        error.detail = wait.description
        return error
    }

    // MARK: Exchanges

    /// Makes an exchange the one that the call's handles suspend and end. Returns `false` if the call has ended.
    func enlist(_ exchange: ExchangeActor) -> Bool {
        guard !state.isFinished else { return false }
        if let last = self.exchange, last !== exchange, !last.onEngineThread.isEnded {
            others.removeAll { other in other.onEngineThread.isEnded }
            others.append(last)
        }
        self.exchange = exchange
        exchange.onEngineThread.joinCall()
        measureBodies()
        if state == .suspended { exchange.onEngineThread.suspend() }
        return true
    }

    func handle(_ event: RequestState.Event) {
        switch state.handle(event) {
        case .nothing: break
        case .pauseExchanges:
            call.observer?.tell(.suspended)
            for exchange in others { exchange.onEngineThread.suspend() }
            exchange?.onEngineThread.suspend()
        case .resumeExchanges:
            if event == .resume { call.observer?.tell(.resumed) }
            for exchange in others { exchange.onEngineThread.resume() }
            exchange?.onEngineThread.resume()
        case .end: letGo()
        }
    }

    var hasEnded: Bool { state.isFinished }

    /// Resumes all waiting readers with the result, and releases the task, the timer and the session's entry.
    private func letGo() {
        finishMeters()
        let work = call.record.withLock { record in
            defer { record.work = nil }
            return record.work
        }
        work?.cancel()
        if let timer { executor.engineLoop.cancel(timer) }
        timer = nil
        if let result {
            waiter?.reply.resume(with: result)
            for waiter in otherWaiters { waiter.reply.resume(with: result) }
        }
        waiter = nil
        otherWaiters = []
        early = []
        if isRegistered { session.actor.callsOnEngineThread.didEnd(self) }
    }
}

extension RequestActor: SharedCall {
    nonisolated var id: UInt64 { call.id }
}

extension RequestActor: CallOrigin {
    nonisolated func sharedCall(for request: Request, depth: Int) -> any SharedCall {
        session.sharedCall(for: request, steps, depth: depth)
    }

    nonisolated var credentialEpoch: Int { steps.steps.adapters.credentialEpoch }
}

extension RequestActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.deadlineIsOver() }
}
