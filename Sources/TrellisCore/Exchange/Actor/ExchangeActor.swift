import CurlEngine

/// The actor of one request on the wire, from its start to its end. The actor lives on an engine thread of its session, so that the events
/// of its connection enter it without a thread switch.
///
/// ``ExchangeState`` has everything that can be in a value, and `handle` performs its effects. This file has the start and the end;
/// *ExchangeActor+Engine.swift* has the tasks that wait, the queue, the time and the observers; *ExchangeActor+Transport.swift* has the
/// events of the transport and both bodies.
actor ExchangeActor: EngineActor {
    /// The engine on which the exchange lives.
    nonisolated let engine: ExchangeEngine
    nonisolated let marks = ExchangeMarks()
    nonisolated let prepared: PreparedRequest
    let hasHistory: Bool
    /// Whether observers get the events of the exchange.
    let hasObserver: Bool
    /// The readers of a response in memory, if they validate the head.
    nonisolated let readers: (any HeadValidator)?
    let admission: ConnectionAdmission

    // Not changed in place where the change may call other code, because every read would then have to check for exclusive access at run
    // time.
    var state: ExchangeState
    var turn = ExchangeTurn<WaitingReport>()
    /// The index of the exchange's origin in the queue; `nil` before it has requested a slot.
    var originIndex: ConnectionAdmission.Scheduler.OriginIndex?
    var work = ExchangeWork()
    var deadlines: Deadlines
    var received = ReceivedResponse()
    var body = ByteAccumulator()
    /// The error of the exchange, if it fails.
    private(set) var failure: (any Error)?
    var meters = ExchangeMeters()
    /// The bandwidth limits of the request, if any.
    var flow: TransferBandwidth?
    var waiters = ExchangeWaiters()

    init(
        _ prepared: PreparedRequest, engine: ExchangeEngine, admission: ConnectionAdmission,
        flow: TransferBandwidth? = nil, readers: (any HeadValidator)? = nil
    ) {
        self.prepared = prepared
        hasHistory = prepared.history != nil
        hasObserver = prepared.history?.observer != nil
        self.readers = readers
        self.flow = flow
        self.engine = engine
        self.admission = admission
        deadlines = Deadlines(limits: prepared.limits, start: prepared.start)
        state = ExchangeState(prepared.facts)
    }

    // MARK: Calls from handles

    /// Starts the exchange, and resumes `reply` with the response and its complete body.
    func begin(collecting reply: Reply<CollectedResponse>) {
        if let result = waiters.result {
            engine.list.remove(self)
            return reply.resume(with: result)
        }
        guard waiters.collected == nil else { return reply.resume(with: .failure(TrellisError.secondReader)) }
        waiters.collected = reply
        begin()
    }

    /// Starts the exchange, resumes `reply` with the head, and appends the body to `inbox`.
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox) {
        if let failure, state.isEnded {
            engine.list.remove(self)
            return reply.resume(with: .failure(failure))
        }
        waiters.inbox = inbox
        waiters.head = reply
        begin()
    }

    private func begin() {
        if !state.isSuspended { handle(.resume) }
        marks.begin()
    }

    func resume() { handle(.resume) }
    func suspend() { handle(.suspend) }

    /// Ends the exchange with an error: `CancellationError` for a cancelled task.
    func cancel(_ error: any Error) { end(.cancel, error) }

    func fail(_ error: any Error) { end(.fail, error) }

    private func end(_ event: ExchangeState.Event, _ error: any Error) {
        // Another end may wait for its turn.
        guard !state.isEnded, failure == nil else { return }
        failure = error
        handle(event)
    }

    // MARK: State machine

    /// Handles an event with its effects, and then the inputs that came in the meantime. During the effects of another input, the event
    /// waits for its turn.
    func handle(_ event: ExchangeState.Event) {
        guard turn.stage != .performing else { return wait(.event(event)) }
        let progress = state.progress
        let isFirst = turn.stage == .idle
        take(event)
        if isFirst { endTurn(after: progress, mustUpdateTimer: event == .resume || event == .suspend) }
    }

    /// Handles a change of a condition in the same way.
    func handle(_ condition: ExchangeState.Condition) {
        guard turn.stage != .performing else { return wait(.condition(condition)) }
        let progress = state.progress
        let isFirst = turn.stage == .idle
        take(condition)
        if isFirst { endTurn(after: progress, mustUpdateTimer: false) }
    }

    private func take(_ event: ExchangeState.Event) {
        turn.stage = .performing
        let progress = state.progress
        var next = state
        let effects = next.handle(event)
        state = next
        let isObserved = hasObserver || waiters.observer != nil
        if isObserved, !next.isEnded { tell(event, after: progress) }
        if !effects.isEmpty { perform(effects) }
        if isObserved, next.isEnded { tell(event, after: progress) }
        turn.stage = .between
    }

    private func take(_ condition: ExchangeState.Condition) {
        turn.stage = .performing
        var next = state
        let effects = next.handle(condition)
        state = next
        if !effects.isEmpty { perform(effects) }
        turn.stage = .between
    }

    private func endTurn(after progress: ExchangeState.Progress?, mustUpdateTimer: Bool) {
        while let event = turn.event {
            turn.event = nil
            take(event)
        }
        if !turn.isEmpty { takeOthers() }
        turn.stage = .idle
        if mustUpdateTimer { return updateTimer() }
        guard state.progress != progress else { return }
        // Most limits that begin with this step end later than the timer's deadline, which may be the end of the total limit.
        let earliest = executor.now.advanced(byNanoseconds: prepared.limits.shortest)
        if let deadline = work.timer?.deadline, deadline <= earliest { return }
        updateTimer()
    }

    @inline(never)
    private func takeOthers() {
        while true {
            // Not changed in place, and not a copy: there may be thousands of inputs.
            var waiting = exchange(&turn, with: ExchangeTurn())
            let input = waiting.next()
            waiting.stage = .between
            turn = waiting
            switch input {
            case nil: return
            case .event(let event): take(event)
            case .condition(let condition): take(condition)
            case .report(let report): receive(report)
            }
        }
    }

    private func wait(_ input: ExchangeTurn<WaitingReport>.Input) {
        if case .event(let event) = input, turn.isEmpty { return turn.event = event }
        var waiting = exchange(&turn, with: ExchangeTurn())
        waiting.add(input)
        turn = waiting
    }

    /// Receives a report after the effects that the exchange performs at present.
    @inline(never)
    func afterEffects(_ content: WaitingReport.Content, in attempt: ExchangeState.Attempt) {
        wait(.report(WaitingReport(content: content, attempt: attempt)))
    }

    private func perform(_ effects: ExchangeState.Effects) {
        if effects.contains(.stopTransport) { stopTransport() }
        if effects.contains(.leaveQueue), let originIndex { admission.leave(self, at: originIndex) }
        if effects.contains(.releaseSlot) { releaseSlot() }
        if effects.contains(.enterQueue) { enterQueue() }
        if effects.contains(.dropAttempt) { dropAttempt(isCancelled: effects.contains(.cancelAttempt)) }
        if effects.contains(.startTransport) {
            deadlines.attemptStart = executor.now
            if hasHistory { prepared.history?.begin(at: deadlines.attemptStart) }
            startAttempt()
        }
        if effects.contains(.pauseTransport) { work.task?.suspend(true) }
        if effects.contains(.resumeTransport) {
            deadlines.lastMove = executor.now
            work.task?.suspend(false)
        }
        if effects.contains(.restartTransport) { startAttempt() }
        if effects.contains(.startBody) { startPump() }
        if effects.contains(.stopBody) { stopBody() }
        if effects.contains(.pauseReceiving) { work.task?.pauseReceiving(true) }
        if effects.contains(.continueReceiving) { work.task?.pauseReceiving(false) }
        if effects.contains(.reportHead) { reportHead() }
        if effects.contains(.reportEnd) { reportEnd() }
    }

    // MARK: Start

    private func startAttempt() {
        deadlines.lastMove = executor.now
        if flow != nil { joinGates() }
        let isFirst = state.expectation != .dropped
        var request = isFirst ? prepared : prepared.withoutExpectation
        if prepared.limits.deadlineField != nil { request = prepared.withDeadline(request, on: executor.clock) }
        work.task = engine.transport.start(request, events: isFirst ? self : LaterAttempt(self))
        if flow != nil { pauseForBandwidth() }
        if state.expectation != .awaited, !waitsForTrust { startPump() }
    }

    /// Forgets the attempt, whose request is sent again.
    private func dropAttempt(isCancelled: Bool) {
        cancelContinueTimer()
        work.pump?.stop()
        work.pump = nil
        if isCancelled { work.task?.cancel() }
        work.task = nil
        received.report = nil
        received.informational = []
    }

    private func stopTransport() {
        if received.report == nil {
            received.report = presentReport
            if state.has(.isSendingReported) { noteClosing() }
        }
        // The reader of the connection gets the error of the exchange.
        if state.hasSwitchedProtocols { work.task?.endConnection(with: failure ?? CancellationError()) }
        work.task?.cancel()
    }

    // MARK: End

    private func reportHead() {
        guard waiters.head != nil else { return }
        waiters.headResult = .success(response(metrics: metrics(received.report ?? presentReport)))
        executor.engineLoop.deliverSoon(self)
    }

    private func reportEnd() {
        work.pump?.stop()
        work.pump = nil
        // The last bytes on the wire may have decoded to nothing. They are counted so that a meter that joins later gets the same total.
        measureDownload()
        if state.has(.endsMeter) { meters.download?.finish() }
        work.task = nil
        cancelContinueTimer()
        if flow != nil { leaveGates() }
        if let timer = work.timer {
            executor.engineLoop.discard(timer)
            work.timer = nil
        }
        marks.end()
        if waiters.collected == nil, waiters.head == nil { engine.list.remove(self) }
        engine.registry.didEnd(self, wasAdded: state.has(.isRegistered))
        let outcome = outcome()
        waiters.inbox?.finish(outcome)
        // Breaks the retain cycle: the inbox retains its exchange.
        waiters.inbox = nil
        // Put off, so that observers know of the end of the exchange before the call's task continues.
        if waiters.headResult == nil, waiters.head != nil {
            waiters.headResult = outcome
            executor.engineLoop.deliverSoon(self)
        }
        // A handle that is kept must not keep the partial body of a request that failed.
        if case .failure = outcome { body = ByteAccumulator() }
        waiters.result = outcome.map { (body.take(), $0) }
        if waiters.collected != nil { executor.engineLoop.deliverSoon(self) }
        if let body = waiters.atEnd.take() { body() }
    }

    private func outcome() -> Result<Response, any Error> {
        guard let failure else { return .success(response(metrics: finalMetrics)) }
        guard var error = failure as? TrellisError else { return .failure(failure) }
        error.method = prepared.method
        error.url = URLRedaction.redact(prepared.url)
        error.phase = error.isRefused ? .composing : TrellisError.Phase(state.lastProgress)
        error.metrics = finalMetrics
        error.followed = prepared.history?.redirects ?? []
        self.failure = error
        return .failure(error)
    }

    // MARK: The response and its metrics, as far as they are known

    private func response(metrics: consuming Metrics) -> Response {
        Response(
            head: received.head ?? ResponseHead(status: .init(code: 0)), url: prepared.url,
            informational: received.informational, trailers: received.trailers, metrics: metrics,
            redirects: prepared.history?.redirects ?? [], bodyCut: received.bodyCut, to: prepared.answered)
    }

    var finalMetrics: Metrics { metrics(received.report) }

    /// The measurements of the present attempt so far, if any.
    private var presentReport: Boxed<TransportReport>? { work.task.map { Boxed($0.report) } }

    private func metrics(_ report: Boxed<TransportReport>?) -> Metrics {
        let hasAttempt = deadlines.hasAttempt || work.task != nil || received.report != nil
        var metrics = Metrics()
        metrics.measure(
            report, start: deadlines.start, attemptStart: hasAttempt ? deadlines.attemptStart : nil,
            now: executor.now, version: received.head?.version, history: prepared.history, callID: prepared.callID,
            proxyURL: prepared.proxyURL, serverTrust: received.trust,
            reporting: ServerTimingFields(
                head: received.head, trailers: received.trailers.isEmpty ? nil : received.trailers),
            bodySizes: hasHistory ? bodySizes(sent: report?.value.bytesSent ?? 0) : (0, 0))
        return metrics
    }

    /// Returns the sizes of both bodies, as far as they have passed.
    ///
    /// - Parameter sent: The number of bytes that the transport has counted.
    private func bodySizes(sent: Int64) -> (request: Int64, response: Int64) {
        // The transport counts the head and a body in memory together; one that counts nothing has sent all before a response.
        let limit = sent > 0 ? sent : received.head != nil ? .max : 0
        let request = prepared.streamedBody != nil ? passedBodySize : min(passedBodySize, limit)
        return (request, meters.measuredBytes)
    }
}

extension ExchangeActor: @preconcurrency DeferredDelivery {
    /// Resumes the waiters for the head and for the complete response.
    func deliver() {
        if let result = waiters.headResult, let reply = waiters.head {
            waiters.head = nil
            waiters.headResult = nil
            reply.resume(with: result)
            if state.isEnded { engine.list.remove(self) }
        }
        guard let result = waiters.result, let reply = waiters.collected else { return }
        waiters.collected = nil
        engine.list.remove(self)
        reply.resume(with: result)
    }
}
