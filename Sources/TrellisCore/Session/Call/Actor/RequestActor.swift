import CurlEngine
import Synchronization

/// The actor of a call, from its creation to its end, with its state, its readers, its deadline and its exchanges in progress. The actor
/// lives on an engine thread, and so do its exchanges.
///
/// A verb runs the call in a task that it waits for (``run(_:)``). A handle runs it in a separate task, for any number of readers
/// (``answer(_:)``). In both cases the ``Pipeline`` performs the call, and this actor ends it at its deadline, when its session ends, and
/// when it is cancelled.
actor RequestActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    nonisolated let call: Call
    nonisolated let session: Session
    /// The engine of the call and of its exchanges.
    nonisolated let engine: SessionEngine
    /// The steps of the session and of the request.
    nonisolated let steps: AttachedSteps
    /// The number of application steps that ran before this actor's pipeline begins.
    nonisolated let depth: Int
    /// The attempt after which the call continues, if the call began without an actor and has sent requests.
    nonisolated let earlier: CallContext?
    /// Whether the call is part of a download, of a refresh or of another call that the session knows, or has begun without an
    /// actor, so that it may start while the session drains.
    nonisolated let isInFlight: Bool
    /// Whether the task that performs a handle's call was started.
    nonisolated let hasBegun = Atomic(false)

    private var state = RequestState.initialized
    /// The timer of the deadline, while the call has one that is set.
    var timer: EngineTimer?
    /// The first waiting reader. Most requests have only one, and need no array.
    private var waiter: Waiter?
    /// The other waiting readers, in order of arrival.
    private var otherWaiters: [Waiter] = []
    /// The readers that were cancelled before they began to wait.
    private var early: Set<UInt64> = []
    /// Whether the session knows the call.
    private var isRegistered = false
    var result: Result<StepResponse, any Error>?
    /// The exchange that was started last.
    private(set) var exchange: ExchangeActor?
    /// The exchanges that had not ended when the last one was started.
    private(set) var others: [ExchangeActor] = []
    /// The progress meters, each created at the first access to its progress.
    nonisolated let uploadMeter = LazyReference<ProgressBroadcaster>()
    nonisolated let downloadMeter = LazyReference<ProgressBroadcaster>()

    init(
        _ call: Call, session: Session, engine: SessionEngine, steps: AttachedSteps, depth: Int = 0,
        after earlier: CallContext? = nil, isInFlight: Bool = false
    ) {
        self.call = call
        self.session = session
        self.steps = steps
        self.depth = depth
        self.earlier = earlier
        self.isInFlight = isInFlight || call.beganWithoutActor
        self.engine = engine
        executor = engine.executor
        executorReference = engine.site.executorReference
    }

    /// A reader that waits for the response.
    private struct Waiter {
        let reader: UInt64
        let reply: Reply<StepResponse>
    }

    // MARK: Calls from verbs

    /// Performs the call of a verb. The call ends with the caller's task.
    ///
    /// - Parameter conditions: The conditions that the caller has of the response; `nil` if it accepts any.
    @inline(__always)
    nonisolated func run(_ conditions: ReadingConditions? = nil) async throws -> StepResponse {
        // A task that prefers the engine's executor would run the steps on the engine thread, before the rest of the session.
        if CallingThread.isEngine { return try await answer(conditions) }
        begin(with: conditions)
        return try await performInTask { await self.perform() }
    }

    /// Starts a call that a verb performs.
    @inline(never)
    nonisolated func begin(with conditions: ReadingConditions?) {
        if let conditions { call.record.withLock { $0.conditions.add(conditions) } }
        call.begin()
        submit { request in
            guard request.register() else { return }
            request.handle(.begin)
            request.setTimer()
        }
    }

    nonisolated func perform() async -> Result<StepResponse, any Error> {
        do { return .success(try await Pipeline(self).run()) } catch { return .failure(error) }
    }

    /// Performs the call in a task that the deadline can cancel, whatever a step waits for. The task begins at once on the caller's
    /// thread, unless that belongs to an actor, so that steps which do not suspend cross no thread. The caller waits for its end.
    @inline(never)
    nonisolated func performInTask(
        _ work: @escaping @Sendable () async -> Result<StepResponse, any Error>
    ) async throws -> StepResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                // The new task would not know.
                if Task.isCancelled { return conclude(.failure(CancellationError()), to: reply) }
                // Code of the user's does not run on an engine thread.
                if CallingThread.isEngine {
                    keep(Task(executorPreference: globalConcurrentExecutor) { self.conclude(await work(), to: reply) })
                } else {
                    keep(Task.immediate { conclude(await work(), to: reply) })
                }
                // The handler of the cancellation may have found no task.
                if Task.isCancelled { cancelWork() }
            }
        } onCancel: {
            submit { $0.cancel(CancellationError()) }
            // The engine of the call may be late.
            cancelWork()
        }
    }

    /// Stores the task for the moment when the call must end, which may be in the past already. A task whose steps have returned need not
    /// be cancelled.
    nonisolated func keep(_ work: Task<Void, Never>) {
        let mustCancel = call.record.withLock { record in
            if !record.isDecided { record.work = work }
            return record.endReason != nil
        }
        if mustCancel { work.cancelOffEngine() }
    }

    /// Decides on the result of a verb's call, unless the actor has already ended the call, and resumes the caller with the result.
    nonisolated func conclude(_ result: Result<StepResponse, any Error>, to reply: Reply<StepResponse>) {
        guard decide() else { return submit { reply.resume(with: $0.result ?? .failure(CancellationError())) } }
        let result = call.ended(with: result)
        submit { $0.settle(result) }
        reply.resume(with: result)
    }

    // MARK: Calls on the engine thread

    var currentState: RequestState { state }

    /// Adds a waiting reader, and starts the call for the first one. Resumes the reader at once if the call has ended.
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

    func start(_ conditions: ReadingConditions?, with event: RequestState.Event) {
        if let conditions { call.record.withLock { $0.conditions.add(conditions) } }
        if register() { handle(event) }
    }

    /// Registers the call with the session, once, when it starts. Returns `false` if the call has ended or the session accepts no more
    /// calls.
    private func register() -> Bool {
        guard !state.isFinished else { return false }
        if isRegistered { return true }
        let refusal = engine.actor.callsOnEngineThread.begin(self)
        isRegistered = refusal == nil
        if let error = refusal ?? call.cancellation { cancel(error) }
        return isRegistered && !state.isFinished
    }

    // MARK: The end

    /// Claims the right to decide on the result. Returns `false` if the result is already decided.
    ///
    /// - Parameter reason: The error with which the call ends while its steps are at work; `nil` if they have returned.
    nonisolated func decide(endingWith reason: (any Error)? = nil) -> Bool {
        call.record.withLock { record in
            guard !record.isDecided else { return false }
            (record.isDecided, record.endReason) = (true, reason)
            if reason == nil { record.work = nil }
            return true
        }
    }

    /// Ends the call and its exchanges with an error.
    func cancel(_ error: any Error) { fail(error, .cancel) }

    /// Stores the result of a call that was performed in a separate task.
    func arrive(_ result: Result<StepResponse, any Error>) {
        guard !state.isFinished, decide() else { return }
        settle(call.ended(with: result))
    }

    /// Stores a result that is decided.
    func settle(_ result: Result<StepResponse, any Error>) {
        guard !state.isFinished else { return }
        self.result = result
        if case .success(let answer) = result { controlExchange(of: answer) }
        // A cancellation error, such as the one of the session's shutdown, ends the request as cancelled.
        if case .failure(let error as TrellisError) = result, error.isCancellation { return handle(.cancel) }
        handle(.finish)
    }

    /// Makes the exchange of a streamed response the one that the handle controls: with hedging, another may have begun later.
    private func controlExchange(of answer: StepResponse) {
        guard case .source(let token) = answer.content, let source = token.source.transfer as? StreamSource,
            source.exchange !== exchange
        else { return }
        exchange = source.exchange
        measureBodies()
    }

    /// The exchanges that have not ended; the last begun comes last.
    var underWay: [ExchangeActor] {
        (others + (exchange.map { [$0] } ?? [])).filter { !$0.isEnded }
    }

    // MARK: Exchanges

    /// Sets the exchange that the call's handles suspend and end. Returns `false` if the call has ended, so that the exchange is not sent.
    private func enlist(_ exchange: ExchangeActor) -> Bool {
        // The session cancels all calls, and this one is among the next.
        if let error = call.cancellation { cancel(error) }
        guard !state.isFinished else {
            exchange.engine.list.remove(exchange)
            return false
        }
        if let last = self.exchange, last !== exchange, !last.isEnded {
            others = others.filter { !$0.isEnded } + [last]
        }
        self.exchange = exchange
        measureBodies()
        if state == .suspended { exchange.perform { $0.suspend() } }
        return true
    }

    func handle(_ event: RequestState.Event) {
        // Not changed in place: every read of the variable would have to check for exclusive access at run time.
        var next = state
        let effect = next.handle(event)
        state = next
        switch effect {
        case .nothing: break
        case .pauseExchanges:
            call.observer?.tell(.suspended)
            for exchange in others { exchange.perform { $0.suspend() } }
            exchange?.perform { $0.suspend() }
        case .resumeExchanges:
            if event == .resume { call.observer?.tell(.resumed) }
            for exchange in others { exchange.perform { $0.resume() } }
            exchange?.perform { $0.resume() }
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
        work?.cancelOffEngine()
        if let timer { executor.engineLoop.cancel(timer) }
        timer = nil
        if let result {
            waiter?.reply.resume(with: result)
            for waiter in otherWaiters { waiter.reply.resume(with: result) }
        }
        waiter = nil
        otherWaiters = []
        early = []
        if isRegistered { engine.actor.callsOnEngineThread.didEnd(self) }
    }
}

/// The exchanges that the pipeline sends through the actor.
extension RequestActor {
    /// Sends an exchange and waits for its response with the complete body. The end of the call ends the exchange, and so does the
    /// cancellation of the task, which may be one of several that a step has created.
    nonisolated func collected(_ exchange: ExchangeActor) async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                exchange.engine.list.add(exchange)
                submit { request in
                    guard request.enlist(exchange) else { return reply.resume(with: .failure(CancellationError())) }
                    exchange.onEngineThread.begin(collecting: reply)
                }
            }
        } onCancel: {
            exchange.cancelWithTask()
        }
    }

    /// Sends an exchange and waits for the head of its response.
    nonisolated func head(_ exchange: ExchangeActor, inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                exchange.engine.list.add(exchange)
                submit { request in
                    guard request.enlist(exchange) else { return reply.resume(with: .failure(CancellationError())) }
                    exchange.onEngineThread.begin(awaitingHead: reply, inbox: inbox)
                }
            }
        } onCancel: {
            exchange.cancelWithTask()
        }
    }
}

/// The responses of calls for memory, and calls that began without an actor.
extension RequestActor {
    /// Returns the response of a call for memory with its complete body.
    @inline(never)
    nonisolated func collected(_ response: StepResponse) async throws -> Answer {
        Answer(response, try await response.wholeBody(), observer: call.observer)
    }

    /// Performs the call of a verb and returns its response with the complete body.
    @inline(never)
    nonisolated func runCollecting(_ conditions: ReadingConditions?) async throws -> Answer {
        try await collected(run(conditions))
    }

    /// Performs the rest of a call that began without an actor, in a task that the deadline can cancel.
    ///
    /// - Parameter conditions: The conditions that the caller has of the response; `nil` if it accepts any.
    @inline(never)
    nonisolated func proceed(
        _ conditions: ReadingConditions?, with work: @escaping @Sendable () async -> Result<StepResponse, any Error>
    ) async throws -> StepResponse {
        begin(with: conditions)
        return try await performInTask(work)
    }
}
