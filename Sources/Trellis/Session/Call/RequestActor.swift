import CurlEngine
import FoundationEssentials
import Synchronization

/// A request from its making to its end: its state, its readers, its deadline and its exchanges under way. Lives on the engine
/// thread, like its exchanges.
///
/// A verb runs the call in the caller's task (``run(_:)``). A handle runs it in a task of its own, for any number of readers
/// (``answer(_:)``). Either way the ``Pipeline`` performs the call, and this actor ends it at its deadline, with its session and
/// when it is cancelled.
actor RequestActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let residence: EngineResidence
    nonisolated let call: Call
    nonisolated let session: Session
    /// The session's steps and the request's.
    nonisolated let steps: AttachedSteps
    /// The number of steps around the call that are behind it.
    nonisolated let depth: Int
    /// The first exchange, where no step has a say in it, or where it was answered before there was a call.
    nonisolated let first: ExchangeActor?
    /// The response that the first exchange has brought already.
    nonisolated let answered: StepResponse?
    /// The call is part of a download, of a refresh or of another call that the session knows: it may start while the session drains.
    nonisolated let isInFlight: Bool
    private nonisolated let hasBegun = Atomic(false)

    private var state = RequestState.initialized
    private var timer: EngineTimer?
    /// The readers that wait. Most requests have one, and then no array.
    private var waiter: Waiter?
    private var otherWaiters: [Waiter] = []
    /// Readers whose cancellation came before their wait.
    private var early: Set<UInt64> = []
    private var isRegistered = false
    private var result: Result<StepResponse, any Error>?
    /// The exchange that was begun last; before the start the first one, where no step has a say in that.
    private(set) var exchange: ExchangeActor?
    /// Exchanges beside the last one that had not ended when that was begun.
    private var others: [ExchangeActor] = []
    /// The meters, each made when its progress is first asked for.
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
        residence = session.engine.residence
        call.observer?.tell(.created(call.request))
    }

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
        if executor.isCurrent { return try await answer(conditions) }
        if let conditions { call.record.withLock { $0.conditions.add(conditions) } }
        call.begin()
        executor.submit { self.onEngineThread.startInCallersTask() }
        let result = await withTaskCancellationHandler {
            await steps.haveUserCode || call.request.hasFiles ? performInTask() : perform()
        } onCancel: {
            executor.submit { self.onEngineThread.cancel(CancellationError()) }
        }
        return try await conclude(result)
    }

    private nonisolated func perform() async -> Result<StepResponse, any Error> {
        do { return .success(try await Pipeline(self).run()) } catch { return .failure(error) }
    }

    /// Performs the call in a task that the deadline can cancel, whatever a step waits for. It begins at once on the caller's
    /// thread, so that steps which do not suspend cross no thread; the caller waits for its end.
    @inline(never)
    private nonisolated func performInTask() async -> Result<StepResponse, any Error> {
        let work = Task.immediate { await perform() }
        keep(work)
        return await work.value
    }

    /// Keeps the task for the moment when the call must end, which may have come already.
    private nonisolated func keep(_ work: Task<Result<StepResponse, any Error>, Never>) {
        let isDecided = call.record.withLock { record in
            if !record.isDecided { record.work = work }
            return record.isDecided
        }
        if isDecided { work.cancel() }
    }

    /// Decides on the result of a call in its caller's task, unless the actor has ended the call before.
    private nonisolated func conclude(_ result: Result<StepResponse, any Error>) async throws -> StepResponse {
        guard decide() else {
            return try await withReply { reply in executor.submit { self.onEngineThread.report(to: reply) } }
        }
        let result = result.mapError(completed)
        tellEnd(result)
        executor.submit { self.onEngineThread.settle(result) }
        return try result.get()
    }

    // MARK: Called by handles, from anywhere

    /// Returns the response to one more reader. Starts the call, unless it was started. A cancelled task leaves the call to the other
    /// readers; with the last of them the call ends.
    ///
    /// - Parameter conditions: The reader's conditions of the response; `nil`: it accepts any.
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

    /// As ``answer(_:)``, for a reader that accepts any response.
    nonisolated func answer() async throws -> StepResponse { try await answer(nil) }

    private static let readerCount = Atomic<UInt64>(0)

    /// Starts the call, or resumes it.
    ///
    /// - Parameter conditions: The conditions of all readers; `nil`: there are none.
    nonisolated func resume(_ conditions: ReadingConditions? = nil) {
        enter { $0.start(conditions) }
        begin()
    }

    nonisolated func suspend() { enter { $0.handle(.suspend) } }

    nonisolated func end(_ error: any Error) { enter { $0.cancel(error) } }

    /// Performs the call in a task of its own, once. Priority and task-local values are those of the task that asks first.
    private nonisolated func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        call.begin()
        executor.submit { self.onEngineThread.setTimer() }
        keep(
            Task(executorPreference: globalConcurrentExecutor) {
                let result = await self.perform()
                self.executor.submit { self.onEngineThread.arrive(result) }
                return result
            })
    }

    // MARK: On the engine thread

    var currentState: RequestState { state }

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

    func startInCallersTask() {
        guard register() else { return }
        handle(.begin)
        setTimer()
    }

    /// Tells the session of the call, once, when it starts. `false`: it has ended, or the session takes no more calls.
    private func register() -> Bool {
        guard !state.isFinished else { return false }
        if isRegistered { return true }
        isRegistered = session.actor.callsOnEngineThread.begin(self, following: answered == nil ? nil : first)
        if !isRegistered { cancel(TrellisError(.cancelled(.sessionShutDown))) }
        // A redirect that answers it is followed by this call, which the session knows already.
        if isRegistered, answered == nil { first?.onEngineThread.joinCall() }
        return isRegistered
    }

    func setTimer() {
        guard !state.isFinished, timer == nil, let end = call.deadline.end else { return }
        let timer = EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: end)
    }

    // MARK: The end

    /// Claims the right to decide on the result; `false`: it is decided.
    private nonisolated func decide() -> Bool {
        call.record.withLock { record in
            defer { record.isDecided = true }
            return !record.isDecided
        }
    }

    func cancel(_ error: any Error) { fail(error, .cancel) }

    /// Takes the result of a call in a task of its own.
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
        // The session's end is that of its calls.
        if case .failure(let error as TrellisError) = result, error.isCancellation { return handle(.cancel) }
        handle(.finish)
    }

    /// Hands over the result of a call that the actor has ended.
    func report(to reply: Reply<StepResponse>) { reply.resume(with: result ?? .failure(CancellationError())) }

    func deadlineIsOver() {
        // The limits of exchanges under way are over at the same moment, or were just now.
        let late = (exchange?.onEngineThread.failure as? TrellisError).flatMap {
            $0.reason == .timedOut(.total) ? $0 : nil
        }
        fail(late ?? overdue, .finish) { $0.timerFired() }
    }

    /// - Parameter end: How exchanges under way end, if not with the error.
    private func fail(
        _ error: any Error, _ event: RequestState.Event, ending end: (any ExchangeEntry) -> Void = { _ in }
    ) {
        guard !state.isFinished, decide() else { return }
        // First the task: a retrier that hears of the exchange's failure must not begin another.
        call.record.withLock { $0.work }?.cancel()
        var result = Result<StepResponse, any Error>.failure(error)
        for exchange in underWay {
            end(exchange.onEngineThread)
            exchange.onEngineThread.cancel(error)
            // The exchange knows best what it was doing.
            if let failure = exchange.onEngineThread.failure { result = .failure(failure) }
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

    /// The error, with what the call had sent before the exchange that failed, and with the call's request where it names none.
    private nonisolated func completed(_ error: any Error) -> any Error {
        guard var error = error as? TrellisError else { return error }
        if error.method == nil { error.method = call.request.method }
        if error.url == nil { error.url = URLRedaction.redact(completeURL) }
        error.metrics.callID = call.id
        error.earlierTraffic = max(error.earlierTraffic, call.record.withLock { $0.traffic })
        return error
    }

    private nonisolated var completeURL: String {
        (try? session.preparation.completingURL(of: call.request))?.url ?? call.request.url
    }

    /// The exchanges that have not ended, the last behind the others.
    private var underWay: [ExchangeActor] {
        (others + (exchange.map { [$0] } ?? [])).filter { !$0.onEngineThread.isEnded }
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

    /// Makes an exchange the one that the call's handles hold up and end; `false` where the call has ended.
    func enlist(_ exchange: ExchangeActor) -> Bool {
        guard !state.isFinished else { return false }
        if let last = self.exchange, last !== exchange, !last.onEngineThread.isEnded {
            others.removeAll { $0.onEngineThread.isEnded }
            others.append(last)
        }
        self.exchange = exchange
        exchange.onEngineThread.joinCall()
        measureBodies()
        if state == .suspended { exchange.onEngineThread.suspend() }
        return true
    }

    private func handle(_ event: RequestState.Event) {
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
}

extension RequestActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngineThread.deadlineIsOver() }
}
