import CurlEngine
import FoundationEssentials
import HTTPTypes
import Synchronization

/// The actor of one request on the wire, from its start to its end. The actor lives on an engine thread of its session, so that libcurl's
/// callbacks enter it without a thread switch. While the exchange waits for a connection, it can move to the engine that has one.
///
/// The verbs and handles call ``begin(collecting:)``, ``begin(awaitingHead:inbox:)``, ``resume()``, ``suspend()`` and ``cancel(_:)`` from
/// any thread. The admission calls ``didGetSlot(on:isProbing:)``, and the transport calls the methods of `TransportEvents`. All
/// changes of the state are made by ``handle(_:)``, the only method that performs the effects of ``ExchangeState``.
actor ExchangeActor: EngineActor {
    /// The engine on which the exchange was created.
    nonisolated let first: ExchangeEngine
    /// The engine to which the exchange has moved; `nil` if it has not moved. Set once, on the thread of the first engine, by an exchange
    /// that waits for its slot and touches none of its state afterwards.
    nonisolated let moved = LazyReference<ExchangeEngine>()
    /// Whether ``moved`` is set. Reading a flag is far cheaper than reading the reference, and is done at every entry.
    nonisolated let isMoved = Atomic(false)
    /// Whether the task of the exchange prefers the executor of the first engine.
    nonisolated let prefersEngine: Bool
    nonisolated let prepared: PreparedRequest
    let hasHistory: Bool
    /// Whether observers get the events of the exchange.
    let hasObserver: Bool
    /// The readers of a response in memory, if they validate the head.
    nonisolated let readers: (any HeadValidator)?
    /// Whether the request belongs to a call or a download in flight, and so may still be sent while the session drains.
    var isPartOfCall: Bool
    let admission: ConnectionAdmission
    /// The index of the exchange's origin in the queue; `nil` before it has requested a slot.
    var originIndex: ConnectionAdmission.OriginIndex?
    /// Whether the exchange has waited for its slot.
    var hasWaited = false
    /// The engine on which the exchange has its slot; `nil` before it has one.
    var slotEngine: ExchangeEngine?
    /// Whether the exchange has ended, for other threads.
    nonisolated let hasEnded = Atomic(false)
    /// The position in the list of the first engine, which guards it by its lock; -1 outside of the list.
    nonisolated let position = Atomic(-1)
    /// Whether the exchange was cancelled before it was in the list. Guarded by the lock of the list.
    nonisolated let wasCancelledEarly = Atomic(false)
    /// Whether the tasks that wait for the exchange were resumed because its engine was stuck. Guarded by the lock of the list.
    nonisolated let wasAbandoned = Atomic(false)
    /// Whether the exchange must end, so that it does not start any more. Set under the lock of the list, before the
    /// exchange is cancelled.
    nonisolated let mustEnd = Atomic(false)
    /// Whether the exchange has started with a slot, for the thread that ends it.
    nonisolated let hasStarted = Atomic(false)
    /// Whether the registry counts the exchange.
    var isRegistered = false
    private(set) var state = ExchangeState()

    // The work in progress.
    var task: (any TransportTask)?
    var pump: BodyPump?
    var sink = ResponseSink.memory
    var timer: EngineTimer?
    var deadlines: Deadlines
    /// Whether the time limits apply. For a deferred handle, they apply from the first resumption.
    var isClockRunning: Bool

    /// The certificates of the server, if they were received.
    var serverTrust: ServerTrust?

    // The response so far.
    var head: ResponseHead?
    var informational: [ResponseHead] = []
    var body = ByteAccumulator()
    /// The number of bytes of the decoded body that were received.
    var bodyCount = 0
    /// The reason why the body was cut off; `nil` if it was not.
    var bodyCut: BodyCut?
    /// Whether the readers have validated the head.
    var isHeadJudged = false
    private(set) var failure: (any Error)?
    private var failedPhase = TrellisError.Phase.composing
    /// The transport's measurements at the end of the attempt; `nil` before the end.
    var report: TransportReport?
    var trailers = HTTPFields()
    /// The number of attempts that the transport has started.
    private var startedAttempts = 0
    /// Whether the transport has paused receiving.
    var isReceivingPaused = false
    /// Whether other requests wait until the connection of this one shows whether it can be shared.
    var isProbing = false
    /// The progress of the request that is being sent, for observers.
    var sending = Sending.none
    /// Whether the request's body is complete, or the rest of it is not sent.
    var isBodySent = true
    /// The number of bytes of the request's body that the transport has taken in this attempt.
    var sentBodyBytes: Int64 = 0
    var uploadMeter: ProgressBroadcaster?
    var downloadMeter: ProgressBroadcaster?
    /// Whether the download meter ends with this exchange.
    var endsDownloadMeter = false
    /// The number of bytes of the response's body that the download meter has counted.
    var measuredBytes: Int64 = 0
    var continueTimer: EngineTimer?
    /// The bandwidth limits of the request; `nil` if there are none.
    var flow: TransferBandwidth?
    /// Whether the source of the body waits until a bandwidth limit grants bytes.
    var isRoomPending = false
    /// The instant at which bytes last moved, as far as the exchange has observed, or at which the transfer was resumed.
    var lastMove: EngineInstant

    // The replies to the tasks that wait.
    var whenCollected: Reply<CollectedResponse>?
    /// The replies to further tasks; `nil` if there are none, as in almost every exchange.
    var whenCollectedToo: [Reply<CollectedResponse>]?
    private(set) var collected: Result<CollectedResponse, any Error>?
    var whenHead: Reply<Response>?
    /// The closure that gets the metrics at the end of a streamed response; `nil` if it is not observed, or the exchange has ended.
    var endObserver: (@Sendable (Metrics) -> Void)?
    var headToDeliver: Result<Response, any Error>?

    init(
        _ prepared: PreparedRequest, engine: ExchangeEngine, prefersEngine: Bool, admission: ConnectionAdmission,
        flow: TransferBandwidth? = nil, readers: (any HeadValidator)? = nil, isInFlight: Bool = false
    ) {
        isPartOfCall = isInFlight
        self.prepared = prepared
        hasHistory = prepared.history != nil
        hasObserver = prepared.history?.observer != nil
        self.readers = readers
        self.flow = flow
        first = engine
        self.prefersEngine = prefersEngine
        self.admission = admission
        deadlines = Deadlines(limits: prepared.limits, start: prepared.start)
        isClockRunning = !prepared.isDeferred
        lastMove = prepared.start
    }

    // MARK: Calls from handles

    /// Starts the exchange, and resumes `reply` with the response and its complete body.
    func begin(collecting reply: Reply<CollectedResponse>) {
        if let collected {
            if first.list.remove(self) { reply.resume(with: collected) }
            return
        }
        if isAbandoned() { return }
        if whenCollected == nil { whenCollected = reply } else { whenCollectedToo = (whenCollectedToo ?? []) + [reply] }
        if !state.isSuspended { handle(.resume) }
    }

    /// Starts the exchange, resumes `reply` with the head, and appends the body to `inbox`.
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox) {
        if let failure, state.isEnded {
            if first.list.remove(self) { reply.resume(with: .failure(failure)) }
            return
        }
        if isAbandoned() { return }
        sink = .stream(inbox)
        whenHead = reply
        if !state.isSuspended { handle(.resume) }
    }

    /// Marks the request as part of a call in flight.
    func joinCall() { isPartOfCall = true }
    func resume() { handle(.resume) }
    func suspend() { handle(.suspend) }

    /// Ends the exchange with an error: `CancellationError` for a cancelled task.
    func cancel(_ error: any Error) {
        guard !state.isEnded else { return }
        failure = error
        handle(.cancel)
    }

    /// Resumes receiving after the reader of a stream has taken the stored bytes.
    func readerHasDrained() {
        guard state.isHeldByReader else { return }
        // Bytes that arrived since may have filled the inbox again, whose reader reports its next drain.
        if case .stream(let inbox) = sink, inbox.isFull { return }
        handle(.release)
        lastMove = executor.now
        pauseReceiving()
        updateTimer()
    }

    // MARK: State machine

    func handle(_ event: ExchangeState.Event) {
        let progress = state.progress
        if !isClockRunning, event == .resume { startClock() }
        var next = state
        let effects = next.handle(event)
        state = next
        if event == .cancel || event == .fail { failedPhase = TrellisError.Phase(progress) }
        let isObserved = hasObserver || endObserver != nil
        if isObserved, !next.isEnded { tell(event, after: progress) }
        if !effects.isEmpty { perform(effects) }
        if isObserved, next.isEnded { tell(event, after: progress) }
        // An effect has led to a further event, which has set the timer.
        if state.phase != next.phase { return }
        if event == .resume || event == .suspend {
            updateTimer()
        } else if state.progress != progress {
            // Most limits that begin with this step end later than the timer's deadline, which may be that of the total limit.
            let earliest = executor.now.advanced(byNanoseconds: prepared.limits.shortest)
            if let deadline = timer?.deadline, deadline <= earliest { return }
            updateTimer()
        }
    }

    func handle(_ condition: ExchangeState.Condition) {
        let effects = state.handle(condition)
        if !effects.isEmpty { perform(effects) }
    }

    private func perform(_ effects: ExchangeState.Effects) {
        if effects.contains(.stopTransport) {
            if report == nil {
                report = task?.report
                if sending != .none { noteClosing() }
            }
            if state.hasSwitchedProtocols { endConnection() }
            task?.cancel()
        }
        if effects.contains(.leaveQueue), let originIndex { admission.leave(self, at: originIndex) }
        if effects.contains(.releaseSlot), let originIndex, let slotEngine {
            admission.release(self, at: originIndex, on: slotEngine, isShared: usedSharedConnection)
        }
        if effects.contains(.enterQueue) { enterQueue() }
        if effects.contains(.startTransport) { startTransport() }
        if effects.contains(.pauseTransport) { task?.suspend(true) }
        if effects.contains(.resumeTransport) {
            lastMove = executor.now
            task?.suspend(false)
        }
        if effects.contains(.restartTransport) { startAttempt() }
        if effects.contains(.startBody) { startPump() }
        if effects.contains(.stopBody) { dropBody() }
        if effects.contains(.reportHead) { reportHead() }
        if effects.contains(.reportEnd) { reportEnd() }
    }

    private func startTransport() {
        deadlines.attemptStart = executor.now
        if hasHistory { prepared.history?.begin() }
        startAttempt()
    }

    func startAttempt() {
        isBodySent = prepared.streamedBody == nil
        lastMove = executor.now
        if prepared.expectContinueTimeout != nil { handle(.expect) }
        if flow != nil { joinGates() }
        let isFirst = state.expectation != .dropped
        startedAttempts += 1
        let number = startedAttempts
        let started = home.transport.start(presentRequest, events: isFirst ? self : LaterAttempt(self))
        // The transport may have delivered events at once, and so have ended the attempt or begun another.
        guard number == startedAttempts else { return }
        guard !state.isEnded else {
            if report == nil { started.cancel() }
            return
        }
        task = started
        if isFirst, state.expectation == .dropped {
            started.cancel()
            return task = nil
        }
        if flow != nil { pauseForBandwidth() }
        if state.expectation != .awaited, pump == nil, !waitsForTrust { startPump() }
    }

    private func reportHead() {
        guard whenHead != nil else { return }
        headToDeliver = .success(response(metrics: metrics(report ?? task?.report)))
        executor.engineLoop.deliverSoon(self)
    }

    private func reportEnd() {
        pump?.stop()
        pump = nil
        // The last bytes on the wire may have decoded to nothing. They are counted so that a meter that joins later gets the same total.
        measureDownload()
        if endsDownloadMeter { downloadMeter?.finish() }
        task = nil
        cancelContinueTimer()
        if flow != nil { leaveGates() }
        if let timer {
            executor.engineLoop.discard(timer)
            self.timer = nil
        }
        hasEnded.store(true, ordering: .releasing)
        if whenCollected == nil, whenHead == nil { first.list.remove(self) }
        recordEnd()
        deliver(outcome())
    }

    private func outcome() -> Result<Response, any Error> {
        guard let failure else { return .success(response(metrics: finalMetrics)) }
        guard var error = failure as? TrellisError else { return .failure(failure) }
        error.method = prepared.method
        error.url = URLRedaction.redact(prepared.url)
        error.phase = error.isRefused ? .composing : failedPhase
        error.metrics = finalMetrics
        error.followed = prepared.history?.redirects ?? []
        self.failure = error
        return .failure(error)
    }

    private func deliver(_ outcome: Result<Response, any Error>) {
        if case .stream(let inbox) = sink {
            inbox.finish(outcome)
            // Breaks the retain cycle: the inbox retains its exchange.
            sink = .memory
        }
        // Put off, so that observers know of the end of the exchange before the call's task continues.
        if headToDeliver == nil, whenHead != nil {
            headToDeliver = outcome
            executor.engineLoop.deliverSoon(self)
        }
        // A handle that is kept must not keep the partial body of a request that failed.
        if case .failure = outcome { body = ByteAccumulator() }
        collected = outcome.map { (body.take(), $0) }
        if whenCollected != nil { executor.engineLoop.deliverSoon(self) }
    }

    // MARK: Calls from the transport

    /// Returns whether an event belongs to the present attempt. Events of an attempt that was dropped, because the server did not meet
    /// its expectation, are ignored.
    func isPresent(_ attempt: ExchangeState.Attempt) -> Bool {
        (attempt == .later) == (state.expectation == .dropped)
    }

    func fail(_ error: any Error) {
        guard !state.isEnded else { return }
        failure = error
        handle(.fail)
    }

    func receive(_ head: ResponseHead, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), !state.isEnded, applyFinalHeadToBody(head) else { return }
        (self.head, lastMove) = (head, executor.now)
        if uploadMeter != nil { noteInlineBody() }
        if downloadMeter != nil { expectDownload() }
        // Some transports do not report that they are connected.
        if isProbing { reportConnection(isShared: usedSharedConnection ?? false) }
        readers?.didReceive(head)
        handle(.head)
    }

    func receive(_ bytes: RawSpan, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), state.progress == .receiving else { return }
        bodyCount += bytes.byteCount
        lastMove = executor.now
        if flow != nil { countReceived(bytes) }
        if downloadMeter != nil { measureDownload() }
        if isStopped(by: bytes) { return }
        switch sink {
        case .memory:
            if !body.append(bytes) { fail(TrellisError(.other("no memory for the response's body"))) }
        case .stream(let inbox): pass(inbox.append(bytes), on: inbox)
        }
    }

    private func pass(_ consequence: BodyInbox.Consequence, on inbox: BodyInbox) {
        if consequence.isOutOfMemory { return fail(TrellisError(.other("no memory for the response's body"))) }
        if consequence.mustPause {
            handle(.hold)
            pauseReceiving()
        }
        switch consequence.wake {
        case .never: break
        case .now: inbox.wake()
        // Delivers everything that libcurl has read until then as one chunk.
        case .soon: executor.engineLoop.deliverSoon(inbox)
        }
    }

    func didEnd(_ end: TransportEnd, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), !state.isEnded else { return }
        report = end.report
        trailers = end.trailers
        if let failure = end.failure {
            keepCertificates(of: failure)
            if mayRestart(after: failure) { return restart() }
            return isBodyFollowed ? completeWithoutBody() : fail(error(for: failure))
        }
        guard state.progress == .receiving else {
            return fail(TrellisError(.invalidResponse(.malformed("it ended before its head"))))
        }
        handle(.complete)
    }
}
