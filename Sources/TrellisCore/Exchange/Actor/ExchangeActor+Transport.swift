import CurlEngine
import FoundationEssentials
import HTTPTypes

// The events of the transport: the connection, the head, both bodies, and the end.

/// The receiver of the transport's events for an attempt of an exchange.
///
/// The events come from any thread. On the engine thread, where the engine's events come from, they are handled at once; from other
/// threads, as soon as the engine thread is free.
protocol AttemptEvents: ConnectionTransportEvents {
    /// The exchange of the attempt.
    var owner: ExchangeActor { get }
    var attempt: ExchangeState.Attempt { get }
}

extension AttemptEvents {
    var observesSteps: Bool { owner.prepared.history?.observer?.observes(.connections) ?? false }

    func transportDidReach(_ step: TransferStep) { owner.onEngineThread.reach(step, in: attempt) }

    func transportDidReceiveCertificates(_ chain: CertificateChain?) {
        owner.onEngineThread.evaluate(chain, in: attempt)
    }

    func transportIsConnected() {
        guard owner.executor.isCurrent else { return owner.submit { [attempt] in $0.isConnected(in: attempt) } }
        owner.onEngineThread.isConnected(in: attempt)
    }

    func transportDidReceiveInformational(_ head: ResponseHead) {
        guard owner.executor.isCurrent else {
            return owner.submit { [attempt] in $0.receiveInformational(head, in: attempt) }
        }
        owner.onEngineThread.receiveInformational(head, in: attempt)
    }

    func transportDidReceiveHead(_ head: ResponseHead) {
        guard owner.executor.isCurrent else { return owner.submit { [attempt] in $0.receive(head, in: attempt) } }
        owner.onEngineThread.receive(head, in: attempt)
    }

    func transportDidReceiveBody(_ bytes: RawSpan) {
        guard owner.executor.isCurrent else {
            let copy = [UInt8](copying: bytes)
            return owner.submit { [attempt] request in copy.withBytes { request.receive($0, in: attempt) } }
        }
        owner.onEngineThread.receive(bytes, in: attempt)
    }

    func transportDidReceiveBody(chunk: Data) {
        guard owner.executor.isCurrent else { return owner.submit { [attempt] in $0.receive(chunk, in: attempt) } }
        owner.onEngineThread.receive(chunk, in: attempt)
    }

    func transportNeedsBody() {
        guard owner.executor.isCurrent else { return owner.submit { [attempt] in $0.needsBody(for: attempt) } }
        owner.onEngineThread.needsBody(for: attempt)
    }

    func transportDidSendBody(_ count: Int) {
        guard owner.executor.isCurrent else { return owner.submit { [attempt] in $0.didSendBody(count, in: attempt) } }
        owner.onEngineThread.didSendBody(count, in: attempt)
    }

    func transportDidEnd(_ end: TransportEnd) {
        guard owner.executor.isCurrent else { return submitEnd(end) }
        owner.onEngineThread.didEnd(end, in: attempt)
    }

    /// Separate, because a closure copies the end even where it is not made.
    @inline(never)
    private func submitEnd(_ end: TransportEnd) { owner.submit { [attempt] in $0.didEnd(end, in: attempt) } }
}

/// The receiver of the transport's events for the attempt that is sent without the expectation, after the first attempt was dropped. The
/// first attempt may still report events, which the exchange ignores.
final class LaterAttempt: AttemptEvents {
    let owner: ExchangeActor
    var attempt: ExchangeState.Attempt { .later }

    init(_ owner: ExchangeActor) { self.owner = owner }
}

extension ExchangeActor: AttemptEvents {
    nonisolated var owner: ExchangeActor { self }
    nonisolated var attempt: ExchangeState.Attempt { .first }

    nonisolated func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection) {
        guard executor.isCurrent else { return submit { $0.switchProtocols(head, connection) } }
        onEngineThread.switchProtocols(head, connection)
    }

    /// Returns whether an event belongs to the present attempt. Events of an attempt that was dropped, because the server did not meet
    /// its expectation, are ignored.
    func isPresent(_ attempt: ExchangeState.Attempt) -> Bool {
        (attempt == .later) == (state.expectation == .dropped)
    }

    /// Receives a report whose turn has come.
    func receive(_ report: WaitingReport) {
        let attempt = report.attempt
        switch report.content {
        case .connected: isConnected(in: attempt)
        case .step(let step): reach(step, in: attempt)
        case .protocolSwitch(let head, let connection): switchProtocols(head, connection)
        case .informational(let head): receiveInformational(head, in: attempt)
        case .head(let head): receive(head, in: attempt)
        case .bytes(let bytes): bytes.withBytes { receive($0, in: attempt) }
        case .chunk(let chunk): receive(chunk, in: attempt)
        case .needsBody: needsBody(for: attempt)
        case .sentBody(let count): didSendBody(count, in: attempt)
        case .end(let end): didEnd(end, in: attempt)
        }
    }

    // MARK: The connection

    func isConnected(in attempt: ExchangeState.Attempt) {
        if turn.stage == .performing { return afterEffects(.connected, in: attempt) }
        guard isPresent(attempt), !state.isEnded else { return }
        deadlines.lastMove = executor.now
        if state.expectation == .awaited { beginContinueWait() } else if waitsForTrust { startPump() }
        // An exchange that has waited may be the first one whose connection can be shared, after others have failed.
        if state.has(.isProbing) || mayRevealSharing {
            reportConnection(isShared: work.task?.sharesConnection ?? false)
        }
        handle(.connect)
    }

    /// Whether the exchange has waited for its slot, and has a connection that others can share.
    private var mayRevealSharing: Bool {
        state.has(.hasWaited) && prepared.mayShareConnection && EngineConfiguration.sharesConnections
            && work.task?.sharesConnection == true
    }

    /// Whether the body is not read yet, because the attempt may end with the evaluation of the server, and the body of another
    /// attempt may be one that can be read only once.
    var waitsForTrust: Bool { work.pump == nil && prepared.trustEvaluation?.mayWait == true }

    /// Decides about the certificates of a server, before the request is sent.
    func evaluate(_ chain: CertificateChain?, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), !state.isEnded else { return }
        guard let evaluation = prepared.trustEvaluation else {
            // A chain that only the caller asks for need not be readable.
            received.trust = chain.flatMap { try? ServerTrust($0, host: prepared.wire.url.bareHost) }
            return
        }
        switch evaluation.decide(chain, now: executor.now) {
        case .accepted(let trust, let reports):
            received.trust = trust
            guard let history = prepared.history else { return }
            for report in reports { history.tell(.serverTrustReported(report)) }
            guard observesSteps, work.task?.report.isReusedConnection == false else { return }
            history.tell(.serverTrustEvaluated(trust, nil))
        case .refused(let trust, let error):
            received.trust = trust
            prepared.history?.tell(.serverTrustEvaluated(trust, error))
            fail(error)
        case .pending(let pending):
            received.trust = pending.trust
            // If the body has begun, the engine sends the request again on another connection.
            let isBodyLost = work.pump != nil && prepared.streamedBody?.isReplayable == false
            fail(isBodyLost ? TrellisError(.bodyFailed(.notReplayable)) : pending.error)
        }
    }

    /// Keeps the certificates of a server that the handshake has refused, if the caller asks for the certificates of the server.
    private func keepCertificates(of failure: TransportFailure) {
        guard prepared.wire.readsCertificates, !failure.sentCertificates.isEmpty else { return }
        let chain = CertificateChain(validated: [], sent: failure.sentCertificates)
        received.trust = try? ServerTrust(chain, host: prepared.wire.url.bareHost)
    }

    /// Passes the connection to the reader of the response, because the server has switched protocols (RFC 9110, section 7.8). The exchange
    /// keeps its slot until the connection is closed.
    func switchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection) {
        if turn.stage == .performing { return afterEffects(.protocolSwitch(head, connection), in: .first) }
        guard !state.isEnded, let inbox = waiters.inbox, inbox.accept(connection) else { return connection.close() }
        handle(.switchProtocols)
        receive(head, in: .first)
    }

    // MARK: The expectation of status 100 (RFC 9110, section 10.1.1)

    /// Starts the timer of the wait, when the connection is ready and the head is sent.
    private func beginContinueWait() {
        guard let wait = prepared.expectContinueTimeout else { return }
        let timer = work.continueTimer ?? EngineTimer(ContinueTimerTarget(self))
        work.continueTimer = timer
        executor.engineLoop.set(timer, at: executor.now.advanced(byNanoseconds: wait))
    }

    /// Ends the wait: the body is sent.
    func endContinueWait() {
        cancelContinueTimer()
        handle(.permitBody)
    }

    func cancelContinueTimer() {
        guard let timer = work.continueTimer else { return }
        executor.engineLoop.cancel(timer)
        work.continueTimer = nil
    }

    /// Stores an informational head. Status 100 ends the body's wait.
    func receiveInformational(_ head: ResponseHead, in attempt: ExchangeState.Attempt) {
        if turn.stage == .performing { return afterEffects(.informational(head), in: attempt) }
        guard isPresent(attempt) else { return }
        // Neither changed in place nor a copy: a server may send thousands of these heads.
        var heads = received.informational
        received.informational = []
        heads.append(head)
        received.informational = heads
        prepared.history?.tell(.informational(head))
        prepared.source.informationalHeads?.receive(head)
        if head.status.code == 100 { endContinueWait() }
    }

    /// Applies a final head to the body. Returns `false` if the request is sent again, so that the caller does not get this head.
    private func applyFinalHeadToBody(_ head: ResponseHead) -> Bool {
        if head.status == .expectationFailed, prepared.mayDropExpectation(in: state) {
            handle(.dropExpectation)
            // The transport is in a callback, and cannot start another attempt before the callback has returned.
            submit { $0.handle(.start) }
            return false
        }
        if state.expectation == .awaited {
            cancelContinueTimer()
            handle(.declineBody)
        } else if head.status.code >= 300, work.pump != nil {
            handle(.dropBody)
        }
        return true
    }

    // MARK: The response

    func receive(_ head: ResponseHead, in attempt: ExchangeState.Attempt) {
        if turn.stage == .performing { return afterEffects(.head(head), in: attempt) }
        guard isPresent(attempt), !state.isEnded, applyFinalHeadToBody(head) else { return }
        received.head = head
        deadlines.lastMove = executor.now
        if meters.upload != nil { noteInlineBody() }
        if meters.download != nil { expectDownload() }
        // Some transports do not report that they are connected.
        if state.has(.isProbing) { reportConnection(isShared: usedSharedConnection ?? false) }
        readers?.didReceive(head)
        handle(.head)
    }

    func receive(_ chunk: Data, in attempt: ExchangeState.Attempt) {
        if turn.stage == .performing, !turn.isEmpty { return afterEffects(.chunk(chunk), in: attempt) }
        guard mayReceive(chunk.bytes, in: attempt) else { return }
        if let inbox = waiters.inbox { pass(inbox.append(chunk), on: inbox) } else { collect(chunk.bytes) }
    }

    func receive(_ bytes: RawSpan, in attempt: ExchangeState.Attempt) {
        // Bytes alone need not wait for their turn: they lead to no effects before it. Bytes whose turn has come do not wait again.
        if turn.stage == .performing, !turn.isEmpty {
            return afterEffects(.bytes([UInt8](copying: bytes)), in: attempt)
        }
        guard mayReceive(bytes, in: attempt) else { return }
        if let inbox = waiters.inbox { pass(inbox.append(bytes), on: inbox) } else { collect(bytes) }
    }

    /// Counts received bytes of the body. Returns whether they are delivered.
    private func mayReceive(_ bytes: RawSpan, in attempt: ExchangeState.Attempt) -> Bool {
        guard isPresent(attempt), state.progress == .receiving else { return false }
        received.bodyCount += bytes.byteCount
        deadlines.lastMove = executor.now
        if flow != nil { countReceived(bytes) }
        if meters.download != nil { measureDownload() }
        return !isStopped(by: bytes)
    }

    /// The number of bytes of a body from which memory for the complete body is reserved.
    private static let smallestReserve = 16 << 10
    /// The largest number of bytes that are reserved.
    private static let largestReserve = 64 << 20

    /// Adds bytes to the body in memory.
    private func collect(_ bytes: RawSpan) {
        if bytes.byteCount >= Self.smallestReserve, bytes.byteCount == received.bodyCount { reserveBody() }
        if !body.append(bytes) {
            fail(TrellisError(.other("no memory for the response's body")))
        }
    }

    /// Reserves memory for the body, if its length is known. A larger body grows in place, whatever its head has promised.
    private func reserveBody() {
        guard let length = received.head?.headers[.contentLength].flatMap({ Int($0) }), length > 0 else { return }
        body.reserve(min(length, Self.largestReserve))
    }

    private func pass(_ consequence: BodyInbox.Consequence, on inbox: BodyInbox) {
        if consequence.isOutOfMemory { return fail(TrellisError(.other("no memory for the response's body"))) }
        if consequence.mustPause { handle(.hold) }
        switch consequence.wake {
        case .never: break
        case .now: inbox.wake()
        // Delivers everything that has been received until then as one chunk.
        case .soon: executor.engineLoop.deliverSoon(inbox)
        }
    }

    /// Resumes receiving after the reader of a stream has taken the stored bytes.
    func readerHasDrained() {
        guard state.isHeldByReader else { return }
        // Bytes that arrived since may have filled the inbox again, whose reader reports its next drain.
        if let inbox = waiters.inbox, inbox.isFull { return }
        deadlines.lastMove = executor.now
        handle(.release)
        updateTimer()
    }

    /// The number of bytes that are read of a body that nobody gets in full: enough for an error to show or decode, and for keeping the
    /// connection after a usual redirect.
    private static var unwantedBodyLimit: Int { 64 << 10 }

    /// Returns whether the body exceeds its limit, and ends the exchange in that case.
    ///
    /// A body in memory is cut off if all readers refuse the head, or if the call continues after the response. If only later stages
    /// know whether the call continues, the body is cut off at the limit on all bodies, and the call fails if the response is final.
    /// The readers are asked once, when their decision makes a difference.
    private func isStopped(by bytes: RawSpan) -> Bool {
        let (maximum, count) = (prepared.maximumBodySize, received.bodyCount)
        let limit = min(Self.unwantedBodyLimit, maximum.bytes)
        guard count > limit else { return false }
        if waiters.inbox == nil, let head = received.head {
            if prepared.isFollowed(head) {
                guard count > Self.unwantedBodyLimit else { return false }
                return cutBody(with: bytes, at: Self.unwantedBodyLimit, reason: .followed)
            }
            if !state.has(.isHeadJudged) {
                state.note(.isHeadJudged)
                if let readers, readers.refuses(head, of: prepared.request) {
                    return cutBody(with: bytes, at: limit, reason: .refused)
                }
            }
            if maximum.isExceeded(by: count), prepared.history?.mayContinue(after: head) == true {
                return cutBody(with: bytes, at: maximum.bytes, reason: .tooLarge(limit: maximum.bytes))
            }
        }
        guard maximum.isExceeded(by: count) else { return false }
        fail(TrellisError(.invalidResponse(.bodyTooLarge(limit: maximum.bytes))))
        return true
    }

    /// Ends the transfer with the beginning of the body. Returns `true`.
    private func cutBody(with bytes: RawSpan, at limit: Int, reason: BodyCut) -> Bool {
        let room = limit - (received.bodyCount - bytes.byteCount)
        if room > 0 { _ = body.append(bytes.extracting(first: room)) }
        received.bodyCount = limit
        received.bodyCut = reason
        handle(.discardRest)
        return true
    }

    // MARK: The end

    func didEnd(_ end: TransportEnd, in attempt: ExchangeState.Attempt) {
        if turn.stage == .performing { return afterEffects(.end(end), in: attempt) }
        guard isPresent(attempt), !state.isEnded else { return }
        received.report = end.measured ?? TransportReport.nothing
        received.trailers = end.trailers
        if let failure = end.failure { return didFail(failure) }
        // A connection that is made in advance has no response.
        if prepared.wire.connectionCount != nil { handle(.head) }
        guard state.progress == .receiving else {
            return fail(TrellisError(.invalidResponse(.malformed("it ended before its head"))))
        }
        handle(.complete)
    }

    private func didFail(_ failure: TransportFailure) {
        keepCertificates(of: failure)
        let isReused = received.report?.value.isReusedConnection == true
        if !state.hasRestarted, received.head == nil, prepared.mayRestart(after: failure, isReused: isReused) {
            return handle(.restart)
        }
        guard isBodyFollowed else { return fail(prepared.error(for: failure)) }
        // The rest of the body was not received or cannot be decoded, and nobody gets it.
        received.bodyCut = .followed
        handle(.complete)
    }

    /// Whether nobody gets the body that is being received, because the call follows the redirect that it belongs to.
    private var isBodyFollowed: Bool {
        guard waiters.inbox == nil, state.progress == .receiving, let head = received.head else { return false }
        return prepared.isFollowed(head)
    }
}

// MARK: The request's body

extension ExchangeActor {
    /// Starts the source of a streamed body.
    func startPump() {
        guard let body = prepared.streamedBody else { return }
        if meters.sentBytes > 0 {
            meters.sentBytes = 0
            meters.upload?.jump(to: 0)
        }
        work.pump = BodyPump(body, into: self, readsFiles: work.task is any FileTransportTask)
    }

    // Chunks of a pump that was replaced or stopped are ignored.

    func send(_ chunk: Data, from pump: BodyPump) {
        guard pump === work.pump else { return }
        deadlines.lastMove = executor.now
        work.task?.send(chunk)
        if work.task?.countsSentBody == false { countSentBody(chunk.count) }
    }

    func send(_ file: FileReader, from pump: BodyPump) {
        guard pump === work.pump, let task = work.task as? any FileTransportTask else { return }
        deadlines.lastMove = executor.now
        pump.willHandOver()
        task.send(file)
    }

    func finishSending(trailers: HTTPFields?, from pump: BodyPump) {
        guard pump === work.pump else { return }
        state.note(.isBodySent)
        deadlines.lastMove = executor.now
        if let trailers { work.task?.finishSending(trailers: trailers) } else { work.task?.finishSending() }
        bodyWasPassed()
        updateTimer()
    }

    func bodyFailed(_ error: TrellisError, from pump: BodyPump) {
        guard pump === work.pump else { return }
        fail(error)
    }

    /// Drops the rest of the body, because the server does not need it.
    func stopBody() {
        work.pump?.stop()
        work.pump = nil
        work.task?.stopSending()
    }

    /// Whether all bytes that the source has provided are sent, and the source must provide more. During this wait the peer is
    /// not considered idle; its idle time starts afterwards. Once the peer has begun to respond, the limits apply even if the source must
    /// provide more.
    var awaitsSource: Bool {
        received.head == nil && !state.isBodySent && state.expectation != .awaited && work.task?.awaitsBody == true
    }

    func needsBody(for attempt: ExchangeState.Attempt) {
        if turn.stage == .performing { return afterEffects(.needsBody, in: attempt) }
        if isPresent(attempt) { roomForBody() }
    }

    /// Notifies the pump that the transport has room for a chunk, unless a bandwidth limit must grant bytes first.
    private func roomForBody() {
        if flow?.sending.isHeld == true, work.task?.countsSentBody == false { return state.note(.isRoomPending) }
        state.forget(.isRoomPending)
        work.pump?.transportHasRoom()
    }

    // MARK: Progress

    /// Measures the request's body with a meter from now on. Does nothing for a request without a body.
    func measureUpload(with meter: ProgressBroadcaster) {
        switch prepared.wire.body {
        case .none: return
        case .bytes(let bytes): meter.expect(Int64(bytes.count))
        case .stream(let length): meter.expect(length)
        }
        meters.upload = meter
        meter.jump(to: meters.sentBytes)
        if received.head != nil { noteInlineBody() }
    }

    /// Counts bytes of the body that the transport has sent.
    func didSendBody(_ count: Int, in attempt: ExchangeState.Attempt) {
        if turn.stage == .performing { return afterEffects(.sentBody(count), in: attempt) }
        if isPresent(attempt) { countSentBody(count) }
    }

    private func countSentBody(_ count: Int) {
        meters.sentBytes += Int64(count)
        meters.upload?.advance(by: count)
        if flow != nil { countSent(count) }
    }

    /// Counts a body that was passed to the transport in one piece and sent with its head.
    private func noteInlineBody() {
        guard case .bytes(let bytes) = prepared.wire.body else { return }
        meters.upload?.advance(by: bytes.count)
    }

    /// Measures the response's body with a meter from now on.
    func measureDownload(with meter: ProgressBroadcaster) {
        meters.download = meter
        if state.isEnded {
            expectDownload()
            return meter.jump(to: meters.measuredBytes)
        }
        meters.measuredBytes = 0
        meter.jump(to: 0)
        guard received.head != nil else { return }
        expectDownload()
        measureDownload()
    }

    /// Sets the progress of the response's body to end with the exchange.
    func endDownloadMeterAtEnd() {
        state.note(.endsMeter)
        if state.isEnded { meters.download?.finish() }
    }

    /// Reports the size that the head announces to the meter, unless the response has no body.
    private func expectDownload() {
        guard let head = received.head, !head.status.hasNoBody(after: prepared.method) else { return }
        meters.download?.expect(head.headers[.contentLength].flatMap { Int64($0) })
    }

    /// Counts received bytes before decoding, like the length in the head, if the transport knows their number; otherwise decoded bytes.
    func measureDownload() {
        let total = work.task?.receivedBodyBytes ?? Int64(received.bodyCount)
        meters.download?.advance(by: Int(total - meters.measuredBytes))
        meters.measuredBytes = total
    }

    // MARK: Bandwidth

    /// Joins the gates of the limits, once, before the first attempt.
    func joinGates() {
        guard flow?.hasJoined == false else { return }
        changeFlow {
            $0.hasJoined = true
            $0.receiving.join(self, at: executor.now)
            if prepared.streamedBody != nil { $0.sending.join(self, at: executor.now) }
        }
    }

    /// Changes the limits outside of the property, whose reads would otherwise be checked, in exchanges without limits too.
    private func changeFlow(_ change: (inout TransferBandwidth) -> Void) {
        guard var flow else { return }
        change(&flow)
        self.flow = flow
    }

    /// Pauses the attempt that has begun if a gate has not granted bytes yet.
    func pauseForBandwidth() {
        changeFlow {
            $0.received = 0
            $0.isSendingPaused = false
        }
        pauseAsGranted()
    }

    /// Leaves the gates at the end of the exchange.
    func leaveGates() {
        guard let flow else { return }
        for gate in flow.sending.gates + flow.receiving.gates { gate.leave(self) }
        self.flow = nil
    }

    /// Counts received bytes of the response's body, and pauses the transfer if it has used up its granted bytes.
    private func countReceived(_ bytes: RawSpan) {
        changeFlow { flow in
            // The number of bytes before decoding is used if the transport knows it.
            let total = work.task?.receivedBodyBytes ?? flow.received + Int64(bytes.byteCount)
            flow.receiving.spend(Int(total - flow.received), self, at: executor.now)
            flow.received = total
        }
        pauseAsGranted()
    }

    /// Counts sent bytes of the request's body, and pauses the transfer if it has used up its granted bytes.
    private func countSent(_ count: Int) {
        changeFlow { $0.sending.spend(count, self, at: executor.now) }
        pauseAsGranted()
    }

    /// Resumes the directions that a gate had paused.
    func bandwidthIsGranted(by gate: BandwidthGate) {
        changeFlow {
            $0.sending.open(gate)
            $0.receiving.open(gate)
        }
        deadlines.lastMove = executor.now
        pauseAsGranted()
        if state.has(.isRoomPending) { roomForBody() }
        updateTimer()
    }

    /// Pauses or resumes both directions, as the gates have granted bytes.
    private func pauseAsGranted() {
        guard let flow else { return }
        if flow.isSendingPaused != flow.sending.isHeld {
            changeFlow { $0.isSendingPaused = flow.sending.isHeld }
            work.task?.pauseSending(flow.sending.isHeld)
        }
        handle(flow.receiving.isHeld ? .limit : .grant)
    }
}
