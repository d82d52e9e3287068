import CurlEngine
import FoundationEssentials

// The tasks that wait for an exchange, its engine and its place in the queue, its time, and its observers.

/// The entry into an ``ExchangeActor`` from code on its engine thread. Every member traps on any other thread.
protocol ExchangeEngineCalls: AnyObject, Sendable {
    func begin(collecting reply: Reply<CollectedResponse>)
    func begin(awaitingHead reply: Reply<Response>, inbox: BodyInbox)
    func end(_ error: any Error, isOverdue: Bool) -> ExchangeEnd
    var failure: (any Error)? { get }
    func isConnected(in attempt: ExchangeState.Attempt)
    func evaluate(_ chain: CertificateChain?, in attempt: ExchangeState.Attempt)
    func reach(_ step: TransferStep, in attempt: ExchangeState.Attempt)
    func switchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection)
    func receiveInformational(_ head: ResponseHead, in attempt: ExchangeState.Attempt)
    func receive(_ head: ResponseHead, in attempt: ExchangeState.Attempt)
    func receive(_ bytes: RawSpan, in attempt: ExchangeState.Attempt)
    func receive(_ chunk: Data, in attempt: ExchangeState.Attempt)
    func needsBody(for attempt: ExchangeState.Attempt)
    func didSendBody(_ count: Int, in attempt: ExchangeState.Attempt)
    func didEnd(_ end: TransportEnd, in attempt: ExchangeState.Attempt)
    func endContinueWait()
    func bandwidthIsGranted(by gate: BandwidthGate)
}

extension ExchangeActor: @preconcurrency ExchangeEngineCalls {
    nonisolated var onEngineThread: any ExchangeEngineCalls { self }

    // MARK: The tasks that wait

    /// Starts the exchange and waits for the response with its complete body. Cancelling the task cancels the exchange.
    nonisolated func collected() async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                engine.list.add(self)
                submit(reply) { $0.begin(collecting: $1) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Starts the exchange and waits for the head of its response. Cancelling the task cancels the exchange.
    nonisolated func head(inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                engine.list.add(self)
                submit { $0.begin(awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Cancels the exchange because the task that waits for it was cancelled.
    nonisolated func cancelWithTask() {
        marks.keepFromStarting()
        submit { $0.cancel(CancellationError()) }
    }

    // MARK: The engine

    nonisolated var executor: EngineExecutor {
        // Inlined, because the executor is read at every entry.
        @inline(__always) get { engine.executor }
    }
    nonisolated var executorReference: ExecutorReference { engine.executorReference }

    /// Whether the exchange has ended. May be read on any thread.
    nonisolated var isEnded: Bool { marks.hasEnded }

    // MARK: The queue

    /// Requests a slot.
    func enterQueue() {
        if originIndex == nil {
            guard state.has(.isRegistered) || register() else { return }
            // The adapters of the call may have taken all of its time. The timer, which is set next, ends the exchange.
            if deadlines.isTotalOver(at: executor.now) { return }
        }
        // An exchange that is about to be cancelled takes no slot.
        if marks.mayNotStart { return }
        let entry = admission.enter(self)
        if case .shed(let error) = entry.result { return fail(error) }
        originIndex = entry.originIndex
        switch entry.result {
        case .admitted(let isProbing): admit(isProbing: isProbing)
        case .coming(let hasSlot): if !hasSlot { state.note(.hasWaited) }
        case .shed: break
        }
    }

    /// Fails the exchange, which has left the queue because another one has come.
    func wasShed(_ error: TrellisError) {
        if state.progress == .queued { fail(error) }
    }

    /// Adds the exchange to the registry of its engine, once: it may request a slot several times. Returns whether it may request one now.
    private func register() -> Bool {
        guard engine.registry.add(self) else {
            cancel(TrellisError.sessionIsShutDown)
            return false
        }
        state.note(.isRegistered)
        guard hasHistory, let error = prepared.history?.listedCall?.cancellation else { return true }
        cancel(error)
        return false
    }

    /// Grants the exchange a slot. An exchange that has ended, or is about to, passes the slot on.
    ///
    /// - Parameter isProbing: Whether other requests wait until the connection of this one shows whether it can be shared.
    func didGetSlot(isProbing: Bool) {
        failIfOverdue()
        if state.progress == .queued { admit(isProbing: isProbing) } else { passOn() }
    }

    /// Passes a slot on to the next exchange that waits.
    private func passOn() {
        if let originIndex { admission.release(self, at: originIndex, isShared: nil) }
    }

    private func admit(isProbing: Bool) {
        if marks.mayNotStart { return passOn() }
        if isProbing { state.note(.isProbing) }
        engine.countAdmitted()
        if admission.measures, let originIndex { admission.measureBegin(at: originIndex, now: executor.now) }
        handle(.admit)
    }

    func releaseSlot() {
        guard let originIndex else { return }
        if admission.measures {
            let now = executor.now
            admission.measureEnd(at: originIndex, after: now.nanoseconds(since: deadlines.attemptStart), now: now)
        }
        admission.release(self, at: originIndex, isShared: usedSharedConnection)
    }

    /// Whether several requests can share the connection, as over HTTP/2 and HTTP/3; `nil` if no head has arrived.
    var usedSharedConnection: Bool? {
        guard let version = received.head?.version else { return nil }
        return version == .http2 || version == .http3
    }

    /// Reports whether the first connection to an origin can be shared, so that the requests that wait for this result continue.
    func reportConnection(isShared: Bool) {
        state.forget(.isProbing)
        if let originIndex { admission.didProbe(self, at: originIndex, isShared: isShared) }
    }
}

// MARK: Time

extension ExchangeActor: @preconcurrency EngineTimerTarget {
    /// Moves the timer to the next limit, if that limit is earlier than the timer's deadline.
    func updateTimer() {
        guard let progress = state.progress, let expiry = nextExpiry(progress) else { return }
        if let deadline = work.timer?.deadline, deadline <= expiry.instant { return }
        let timer = work.timer ?? executor.engineLoop.makeTimer(self)
        work.timer = timer
        executor.engineLoop.set(timer, at: expiry.instant)
    }

    private func nextExpiry(_ progress: ExchangeState.Progress) -> Deadlines.Expiry? {
        if state.hasSwitchedProtocols { return nil }
        // No limit begins with a move of bytes before the request is being sent.
        let activity = progress >= .sending ? work.task?.activity : nil
        let lastMove = deadlines.lastMove
        return deadlines.next(
            progress, lastMove: max(lastMove, activity?.last ?? lastMove),
            lastSend: state.isBodySent ? max(lastMove, activity?.lastSend ?? lastMove) : nil,
            isHeld: state.isHeldByReader || state.isSuspended || flow?.isHeld == true)
    }

    /// Fails the exchange if a limit is reached. Otherwise sets the timer again, because the timer is not moved at every byte.
    func timerIsDue() {
        if awaitsSource { deadlines.lastMove = executor.now }
        guard let progress = state.progress, let expiry = nextExpiry(progress) else { return }
        guard expiry.instant <= executor.now else { return updateTimer() }
        if expiry.timeout == .connect, let start = work.task?.activity?.connectStart,
            start > deadlines.connectStart
        {
            // The attempt has waited for a stream, which is no time of connecting. The timer is not moved at every such wait.
            deadlines.connectStart = start
            return updateTimer()
        }
        fail(after: expiry.timeout)
    }

    /// Fails an exchange that gets its slot when its limit in total is reached, although its timer has not fired. The clock is read again,
    /// because many slots can be passed on in one turn of the loop.
    private func failIfOverdue() {
        guard state.progress == .queued, prepared.limits.total != nil else { return }
        guard deadlines.isTotalOver(at: executor.engineLoop.latest) else { return }
        var error = TrellisError(.timedOut(.total))
        // The exchange is not in the queue any more, which cannot tell why it waited.
        error.detail = "its turn came only then"
        fail(error)
    }

    private func fail(after timeout: TrellisError.Timeout) {
        var error = TrellisError(.timedOut(timeout))
        error.detail = reasonForWaiting
        error.isUntried = timeout == .connect && prepared.limits.connect == 0
        work.task?.didTimeOut(isIdle: timeout == .idle)
        fail(error)
    }

    /// The reason why the exchange waits for a slot or for its connection, for errors, if it is known.
    private var reasonForWaiting: String? {
        switch state.progress {
        case .queued: originIndex.map { admission.reasonForWaiting(self, at: $0) }
        case .connecting: work.task?.reasonForWaiting
        default: nil
        }
    }

    /// Ends the exchange because its call ends.
    ///
    /// - Parameter isOverdue: Whether the call has reached its deadline. That deadline can be earlier than the exchange's own,
    ///   because the exchange of a handle may have started later.
    func end(_ error: any Error, isOverdue: Bool) -> ExchangeEnd {
        let wasInProgress = !state.isEnded
        let wasStarted = state.phase != .initialized && state.phase != .suspended(.parked)
        if isOverdue { fail(after: .total) }
        cancel(error)
        return ExchangeEnd(
            failure: failure, metrics: finalMetrics, wasInProgress: wasInProgress, wasStarted: wasStarted)
    }
}

// MARK: Observers

extension ExchangeActor {
    /// Tells the observers of an event, after ``ExchangeState`` has handled it.
    func tell(_ event: ExchangeState.Event, after progress: ExchangeState.Progress?) {
        if waiters.observer != nil, state.isEnded { tellEnd() }
        guard let history = prepared.history, let observer = history.observer else { return }
        // A request that is sent again has another connection, and the same progress.
        guard event == .connect || state.progress != progress else { return }
        switch event {
        case .resume, .suspend:
            guard state.progress == .queued else { return }
            if let decision = prepared.proxyDecision { history.tell(.proxySelected(decision)) }
            observer.tellQueued(prepared, attempt: history.attempt)
        case .admit: observer.tell(.admitted, attempt: history.attempt)
        case .connect: if observer.observes(.connections) { tellConnection(history, observer) }
        case .head:
            guard let head = received.head else { return }
            // The transport may not have had the time to report it.
            if state.mustReportSent, isRequestSent { tellSent() }
            observer.tell(.head(head), attempt: history.attempt)
        case .complete, .discardRest, .fail, .cancel:
            // An exchange that has only brought the certificates is not reported.
            guard progress != nil, (failure as? TrellisError)?.pendingTrust == nil else { return }
            if failure == nil, case .success((_, let response))? = waiters.result {
                // The response has the same metrics.
                observer.tellEnded(response, attempt: history.attempt)
            } else {
                history.tell(.exchangeEnded(finalMetrics, failure))
            }
        }
    }

    private func tellConnection(_ history: AttemptHistory, _ observer: CallObserver) {
        let task = work.task
        var connection = ConnectionInfo()
        connection.describe(task, for: prepared)
        if connection.isShared, let added = task?.connectionDetails.added {
            history.tell(.connectionAdded(number: added.number, streamLimit: added.streamLimit))
        }
        observer.tellConnected(connection, attempt: history.attempt)
        state.note(.isSendingReported)
        state.forget(.wasSentReported)
        if let task, task.reportsSending {
            task.reportSending()
        } else if prepared.streamedBody == nil {
            tellSent()
        }
    }

    /// Whether the complete request was sent, or its body was passed to a transport that does not report that.
    private var isRequestSent: Bool {
        if let task = work.task, task.reportsSending { task.hasSentRequest } else { state.isBodySent }
    }

    /// Tells the observers that the complete request was sent, once for each connection.
    private func tellSent() {
        guard state.mustReportSent else { return }
        state.note(.wasSentReported)
        prepared.history?.tell(.requestSent(bodySize: passedBodySize))
    }

    /// Tells the observers that the complete body was passed to a transport that does not report when it was sent.
    func bodyWasPassed() {
        guard state.mustReportSent, work.task?.reportsSending != true else { return }
        tellSent()
    }

    /// The number of bytes of the request's body that the transport has taken. A body in memory is passed to it in one piece.
    var passedBodySize: Int64 {
        switch prepared.wire.body {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .stream: meters.sentBytes
        }
    }

    /// Records that the connection of an observed request was closed, because the attempt is cancelled and other requests do not share it.
    /// After the head, the transport may find the whole response in what has arrived, and keep the connection.
    func noteClosing() {
        guard received.head == nil, let task = work.task, task.reportsSending, !task.sharesConnection,
            var report = received.report?.value, !report.peerHost.isEmpty
        else { return }
        report.isConnectionKept = false
        received.report = Boxed(report)
    }

    func reach(_ step: TransferStep, in attempt: ExchangeState.Attempt) {
        // After the connection that this step belongs to.
        if turn.stage == .performing, !turn.isEmpty { return afterEffects(.step(step), in: attempt) }
        guard isPresent(attempt), !state.isEnded, let history = prepared.history else { return }
        switch step {
        case .lookingUp(let host): history.tell(.lookingUp(host: host))
        case .lookedUp(let host): history.tell(.lookedUp(host: host))
        case .connecting(let address): history.tell(.connecting(to: address))
        case .refused(let address, let network):
            history.tell(.egressRefused(.network(IPNetwork(network), address: "\(address)")))
        case .handshaking(let host): history.tell(.handshaking(with: host))
        case .headSent: if state.mustReportSent { history.tell(.requestHeadSent) }
        case .sent: tellSent()
        }
    }

    /// Calls a closure on the pool with the metrics of the exchange when that has ended; soon, if it has ended already.
    func whenEnded(_ observer: @escaping @Sendable (Metrics) -> Void) {
        waiters.observer = observer
        if state.isEnded { tellEnd() }
    }

    /// Calls a closure on the engine thread, which it must not block, when the exchange has ended; at once, if it has ended already.
    func atEnd(_ body: @escaping @Sendable () -> Void) {
        if state.isEnded { return body() }
        guard let earlier = waiters.atEnd else { return waiters.atEnd = body }
        waiters.atEnd = {
            earlier()
            body()
        }
    }

    private func tellEnd() {
        guard let observer = waiters.observer else { return }
        waiters.observer = nil
        let metrics = finalMetrics
        Task.detached { observer(metrics) }
    }
}
