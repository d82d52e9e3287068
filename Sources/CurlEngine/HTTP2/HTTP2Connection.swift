import CCurl
import FoundationEssentials
private import Glibc

/// A connection on which the engine itself speaks HTTP/2, many requests at a time. It belongs to the engine thread.
final class HTTP2Connection: EngineConnection, EngineTimerTarget, @unchecked Sendable {
    // Unchecked: every member but `socket` is only accessed on the engine thread.

    /// The number of bytes that are received, or sent, in one turn of the loop, after which other connections have theirs.
    private static let bytesPerTurn = 1 << 20
    /// The part of ``bytesPerTurn`` that each record of TLS takes at least.
    private static let smallestShare = 4 << 10
    /// The number of bytes that a server acknowledges before the next check if it takes content, and not only the last PING.
    private static let leastDelivery: Int64 = 4 << 10
    /// The number of bytes that the system takes before it can send them, so that a small request does not wait for a large upload.
    private static let mostUnsent: Int32 = 256 << 10
    /// The number of bytes from which on those that the socket has no room for stay where they are, with the memory of a buffer.
    private static let largestCopy = 16 << 10

    let pool: HTTP2Pool
    let engine: CurlEngine
    private(set) var session: HTTP2Session?
    /// The number of transfers with streams.
    private var count = 0
    /// The instant of the last bytes that were received, on the engine's clock.
    private var lastReceived: EngineInstant
    /// Whether the connection has carried a request.
    private var hasCarried = false
    /// Whether no more streams begin, and the connection is closed after the present ones.
    private var isLeaving = false
    /// Whether the table lists the connection among those with frames to be sent.
    var isReadyListed = false
    /// Whether the table lists the connection among the idle ones.
    var isListedAsIdle = false
    /// The bytes that the socket has not taken, from ``start`` on.
    private var rest = Data()
    private var start = 0
    /// What TLS must do first: receive a message before it sends more, or send one, for which the socket has no room, before it receives
    /// more.
    private var tlsWaits = (forServer: false, forRoom: false)
    /// Whether receiving goes on in the next turn of the loop.
    private var receivesSoon = false
    /// The timer for the session's next check, and the number of bytes that the server had acknowledged at the last one.
    private var timer: EngineTimer?
    private var acknowledged: Int64 = 0
    /// The phase of the connection.
    private var phase = Phase.open

    private enum Phase {
        case open
        /// The delegate of the first transfer has not accepted the certificates, so that nothing is sent.
        case refused
        /// The streams have failed, and the last frames are sent.
        case failed
        /// The engine has ended.
        case abandoned
        case closed
    }

    /// Creates the connection that was made for a transfer; `nil` if memory has run out.
    init?(_ link: WireLink, generation: UInt32, peer: Peer, in pool: HTTP2Pool, for transfer: Transfer) {
        self.pool = pool
        engine = transfer.engine
        lastReceived = transfer.engine.now
        super.init(link, generation: generation, peer: peer, for: transfer)
        var settings = engine.configuration.http2
        settings.limits.streamsBeforeSettings = min(settings.limits.streamsBeforeSettings, pool.streams)
        session = HTTP2Session(settings, defaults: engine.configuration.defaultHeaderLines, delegate: self)
        if session == nil { return nil }
        ccurl_socket_limit_unsent(socket, Self.mostUnsent)
    }

    private var table: WireTable { engine.wire }
    var now: EngineInstant { engine.executor.engineLoop.systemNow }

    /// The number of streams that can begin.
    var room: Int {
        guard let session, !isLeaving, phase == .open, session.takesStreams else { return 0 }
        return max(0, session.capacity - session.activeStreams)
    }

    /// Whether no transfer uses the connection.
    var isIdle: Bool { count == 0 }

    /// Returns whether the connection can be used for the stream of a transfer now, and has the certificates that the transfer reads, if it
    /// does. A resumed session has no verified chain.
    func isUsable(for transfer: Transfer) -> Bool {
        (!transfer.options.readsCertificates || link.tls?.isResumed != true) && isUsable
    }

    /// Whether the connection can be used for a stream now. What the server has sent on an idle one is read first.
    var isUsable: Bool {
        guard room > 0 else {
            // The numbers of streams have an end.
            if session?.takesStreams == false { leave(in: table) }
            return false
        }
        let present = engine.now
        let lifetime = engine.configuration.maximumLifetimeSeconds
        let isOld = lifetime > 0 && made.advanced(by: .seconds(lifetime)) <= present
        if isOld || isIdle && lastUse.advanced(by: engine.idleLifetime) <= present {
            leave(in: table)
            return false
        }
        guard isIdle, hasCarried, let session else { return true }
        if !ccurl_socket_is_quiet(socket) || link.tls?.hasPending == true { receive() }
        if unsafe session.policy.keepalive.isStale(at: now) {
            session.perform(unsafe session.policy.keepalive.checkIdle(at: now))
            isReady()
        }
        return room > 0
    }

    /// Whether the server has to prove first that it is there.
    var isInDoubt: Bool { unsafe phase == .open && session?.policy.keepalive.isInDoubt == true }

    // MARK: Requests

    /// Sends the request of a transfer on a stream.
    func send(_ transfer: Transfer) {
        guard let session else { return }
        let isFirst = !hasCarried
        if transfer.connection.http3.race != nil { engine.http3Races.hasConnected(transfer) }
        // The reference last: the compiler joins the two accesses, and if something is released inside of one, every read of the variable
        // has to check for exclusive access at run time.
        transfer.connection.wire.isReused = hasCarried
        transfer.connection.wire.http2 = self
        transfer.attempts += 1
        (count, hasCarried) = (count + 1, true)
        table.setIdle(self, false)
        if transfer.options.readsCertificates, let tls = link.tls {
            transfer.delegate?.transferDidReceiveCertificates(tls.certificates)
            // Nothing is sent to a server whose certificates the delegate does not accept.
            guard !transfer.isCancelled, transfer.failure == nil else {
                // The next transfer may find another server.
                if isFirst { phase = .refused }
                leave(in: table)
                return engine.update(transfer)
            }
        }
        // Nothing is sent to a server whose certificates the delegate does not accept, or after a cancellation.
        guard !transfer.isCancelled, transfer.failure == nil else { return engine.update(transfer) }
        (transfer.connection.localPort, transfer.connection.hadStreams) = (port, true)
        transfer.start = engine.now
        transfer.activity = (transfer.start, transfer.start)
        if transfer.options.connectionCount != nil { return table.keep(self, madeInAdvanceBy: transfer) }
        do throws(EngineFailure) {
            let stream = try session.submit(transfer.options, holdsBody: transfer.isHeldBack)
            stream.transfer = transfer
            transfer.connection.wire.stream = stream
        } catch {
            return table.end(transfer, error)
        }
        // An extended CONNECT may still wait for the server's settings.
        if !transfer.options.isExtendedConnect { transfer.delegate?.transferIsConnected() }
        // If the delegate has cancelled the transfer, nothing of it is sent, although the frames may leave before the changes.
        if transfer.isCancelled || transfer.failure != nil {
            if let stream = transfer.wire.stream { session.cancel(stream) }
            engine.update(transfer)
        }
        isReady()
    }

    /// Removes a transfer. Its stream is reset unless it has ended. Returns whether the connection goes on.
    func leave(_ transfer: Transfer) -> Bool {
        let stream = transfer.wire.stream
        transfer.connection.wire.stream = nil
        transfer.connection.wire.http2 = nil
        stream?.transfer = nil
        count -= 1
        if let stream, stream.isSwitched { session?.finish(stream) }
        if let stream, stream.isActive, !stream.isSwitched { session?.cancel(stream) }
        transfer.connection.switched = nil
        lastUse = engine.now
        isReady()
        if count == 0, !isLeaving, phase == .open { table.setIdle(self, true) }
        return !isLeaving && phase == .open
    }

    /// Continues a transfer after a change.
    func goOn(_ transfer: Transfer) {
        guard let session, let stream = transfer.wire.stream else { return }
        let hasPaused = transfer.pauses.applied & 4 != 0 && !transfer.pauses.isSendingPaused
        if transfer.isHeldBack {
            session.holdBody(stream)
        } else if stream.isBodyHeldBack || hasPaused {
            transfer.pauses.applied &= ~4
            session.resumeBody(stream)
        }
        if stream.isHeld != transfer.pauses.holdsBody {
            if stream.isHeld { session.release(stream) } else { session.hold(stream) }
        }
        isReady()
    }

    /// Begins no more streams. The connection is closed after the present ones.
    func leave(in table: WireTable) {
        guard !isLeaving else { return }
        isLeaving = true
        pool.remove(self)
        table.setIdle(self, false)
        isReady()
    }

    /// Notes that the time of a request is over. If the connection has brought no byte since an instant, no more streams begin.
    func didTimeOut(since instant: EngineInstant) { if lastReceived <= instant { leave(in: table) } }

    // MARK: Bytes

    /// Lists the connection among those with something to do at the end of the turn of the loop.
    func isReady() {
        guard !isReadyListed, phase != .closed, phase != .abandoned else { return }
        isReadyListed = true
        unsafe table.http2.ready.append(self)
    }

    /// Handles the socket, which is ready.
    func isReady(_ ready: ReadySocket) {
        if ready.interest.contains(.read) || tlsWaits.forRoom {
            tlsWaits.forRoom = false
            if !receivesSoon { receive() }
        }
        isReady()
    }

    /// Receives bytes, as many as the socket has and one turn allows.
    private func receive() {
        // The message for which TLS waits may be among the bytes.
        if tlsWaits.forServer {
            tlsWaits.forServer = false
            isReady()
        }
        var room = Self.bytesPerTurn
        while phase == .open {
            guard let session, let buffer = unsafe table.buffer else { return fail(.outOfMemory) }
            let count = unsafe link.receive(buffer)
            guard count > 0 else { return receivedNothing(count) }
            lastReceived = engine.now
            do throws(EngineFailure) {
                try session.receive(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
            } catch {
                return fail(error)
            }
            // Each record of TLS costs work, however few bytes it has.
            room -= link.tls == nil ? count : max(count, Self.smallestShare)
            isReady()
            // A full buffer means that there may be more.
            guard count == buffer.count || link.tls?.hasPending == true else { return }
            guard room > 0 else { return receiveSoon() }
        }
    }

    /// Continues to receive in the next turn of the loop. The kernel reports a socket again, but not the bytes that TLS has received.
    func receiveSoon() {
        guard link.tls != nil, !receivesSoon else { return }
        receivesSoon = true
        engine.submit { [self] in
            receivesSoon = false
            receive()
        }
    }

    /// Handles the end or the failure of the connection.
    private func receivedNothing(_ count: Int) {
        switch Int32(count) {
        case CCURL_TLS_WAIT: return
        case CCURL_TLS_MORE: receiveSoon()
        case CCURL_TLS_FULL:
            tlsWaits.forRoom = true
            isReady()
        case 0, CCURL_TLS_CUT_OFF:
            let failure = EngineFailure(CURLE_GOT_NOTHING, detail: "the server closed the connection")
            fail(link.tls?.explained(failure) ?? failure)
        default: fail(link.failure("Recv", CURLE_RECV_ERROR))
        }
    }

    /// Sends what is ready, as far as the socket takes it. Closes the connection if nothing is left to do.
    func flush() {
        guard phase != .refused else {
            if count == 0 { table.close(self) }
            return
        }
        var left = Self.bytesPerTurn
        while phase == .open || phase == .failed, !tlsWaits.forServer {
            if start < rest.count {
                let sent = unsafe rest.withUnsafeBytes { unsafe push(UnsafeRawBufferPointer(rebasing: $0[start...])) }
                start += sent
                guard start == rest.count else { break }
                (rest, start) = (Data(), 0)
            }
            guard left > 0, let session, session.wantsWrite || session.resetLeaving(), let buffer = unsafe table.buffer
            else { break }
            let count = unsafe session.fill(buffer)
            guard count > 0 else { break }
            left -= count
            let sent = unsafe push(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            guard sent == count else {
                // After a failure, the buffer may have what the server has said before.
                if phase == .open { unsafe keep(buffer, sent..<count) }
                break
            }
        }
        if phase == .failed || isLeaving && count == 0 { return finish() }
        guard phase == .open else { return }
        // With the rest of a turn, the socket has room, so that the next turn of the loop continues.
        let wantsToSend = start < rest.count || left <= 0
        let interest: SocketInterest = wantsToSend && !tlsWaits.forServer ? [.read, .write] : .read
        watch(for: tlsWaits.forRoom ? .write : interest, on: engine)
        setTimer()
    }

    /// Keeps bytes of the table's buffer that the socket has no room for.
    private func keep(_ buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>) {
        if range.count > Self.largestCopy, let bytes = table.takeBuffer(range) {
            rest = bytes
        } else {
            rest = unsafe Data(UnsafeRawBufferPointer(rebasing: buffer[range]))
        }
    }

    /// Sets the timer for the session's next check. Bytes that arrive only move that later.
    private func setTimer() {
        guard let deadline = session?.deadline else { return }
        if let set = timer?.deadline, set <= deadline { return }
        let timer = timer ?? EngineTimer(self)
        self.timer = timer
        engine.executor.engineLoop.set(timer, onSystemAt: deadline)
    }

    /// Makes the session's check. The thread may have been held up, so that the server's bytes wait in the kernel.
    func timerIsDue() {
        receive()
        let count = ccurl_socket_acknowledged(socket)
        if count - acknowledged >= Self.leastDelivery { unsafe session?.policy.keepalive.didDeliverContent(at: now) }
        acknowledged = count
        session?.check()
        isReady()
    }

    /// Passes as many bytes as possible to the system. Returns their number.
    private func push(_ bytes: UnsafeRawBufferPointer) -> Int {
        let push = unsafe link.push(bytes)
        if push.stop != 0 { tlsWaits.forServer = push.stop == Int(CCURL_TLS_MORE) }
        if push.stop == Int(CCURL_TLS_FAILED) {
            // The server may have said why before.
            let failure = link.failure("Send", CURLE_SEND_ERROR, error: push.error)
            receive()
            fail(failure)
        }
        return push.count
    }

    // MARK: Ends

    /// Ends the connection, and all of its streams with a failure.
    func fail(_ failure: EngineFailure) {
        guard phase == .open else { return }
        phase = .failed
        leave(in: table)
        session?.connectionEnded(failure)
        isReady()
    }

    /// Ends the connection, which is idle.
    func end(in table: WireTable) {
        leave(in: table)
        flush()
    }

    private func finish() {
        if phase == .open { tellEnd() }
        table.close(self)
    }

    /// Tells the server the end, if the socket takes that at once.
    private func tellEnd() {
        guard start == rest.count, let session, let buffer = unsafe table.buffer else { return }
        session.goAway()
        let count = unsafe session.fill(buffer)
        _ = unsafe link.send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    /// Closes the socket.
    func closeSocket() {
        guard phase != .closed else { return }
        phase = .closed
        if let timer { engine.executor.engineLoop.cancelOnSystem(timer) }
        timer = nil
        observation?.end()
        link.tls?.close()
        _ = Glibc.close(socket)
    }

    /// Ends all transfers without events, because the engine ends, and closes the socket.
    func abandon() {
        if phase == .open { tellEnd() }
        phase = .abandoned
        session?.connectionEnded(.outOfMemory)
        // Those whose response has ended, which their readers have not taken.
        for stream in session?.removeAll() ?? [] { stream.transfer?.abandon() }
        closeSocket()
    }
}

// MARK: - The events of the session

extension HTTP2Connection: HTTP2SessionDelegate {
    func stream(_ stream: HTTP2Stream, didReceiveInformational head: WireHead) {
        guard let transfer = present(stream) else { return }
        noteFirstByte(transfer)
        transfer.activity.last = engine.now
        transfer.delegate?.transferDidReceiveInformational(head)
    }

    func stream(_ stream: HTTP2Stream, didReceiveHead head: consuming WireHead) {
        guard let transfer = present(stream) else { return }
        if head.status == Self.misdirected, mayGoElsewhere(transfer) {
            transfer.repetition.wasMisdirected = true
            return table.restart(transfer, needsConnection: true)
        }
        noteFirstByte(transfer)
        transfer.activity.last = engine.now
        if transfer.options.isExtendedConnect, 200..<300 ~= head.status {
            return switchProtocols(head, on: stream, of: transfer)
        }
        if transfer.options.decodesContent, head.fields.firstValueLength(of: Self.contentEncoding) != nil {
            transfer.receiving.codings = head.fields.contentCodings
        }
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        transfer.delegate?.transferDidReceiveHead(head)
        holdIfNeeded(stream, transfer)
    }

    private static let contentEncoding = Array("content-encoding".utf8)
    /// The status of a response that says that the server does not serve the origin on this connection.
    private static let misdirected = 421

    /// Returns whether a request is sent again on a new connection, once, because an old one does not serve its origin (RFC 9110, section
    /// 15.5.20).
    private func mayGoElsewhere(_ transfer: Transfer) -> Bool {
        transfer.wire.isReused && !transfer.repetition.wasMisdirected && !transfer.sending.hasBegun
            && transfer.options.mayConnect
    }

    func stream(_ stream: HTTP2Stream, didReceiveBody bytes: RawSpan) {
        guard let transfer = present(stream) else { return }
        transfer.activity.last = engine.now
        if let switched = transfer.connection.switched { return receive(bytes, on: stream, for: switched) }
        if transfer.receiving.count > 0 || transfer.receiving.codings.isEmpty || transfer.prepareDecoding() {
            transfer.receiving.count += Int64(bytes.byteCount)
            if let decoder = transfer.receiving.decoder {
                _ = transfer.decode(bytes, with: decoder)
            } else {
                transfer.delegate?.transferDidReceiveBody(bytes)
            }
        }
        guard !transfer.isCancelled else { return }
        if transfer.failure != nil { return table.end(transfer, nil) }
        holdIfNeeded(stream, transfer)
    }

    func streamDidEnd(_ stream: HTTP2Stream, trailers: WireFields) {
        if pool.calm.end != nil { pool.calm.didReceiveResponse(at: now) }
        guard let transfer = present(stream) else { return }
        if let switched = transfer.connection.switched { return switched.peerDidEnd() }
        table.end(transfer, nil, trailers: trailers, keeps: true)
    }

    func streamDidFail(_ stream: HTTP2Stream, _ failure: EngineFailure) {
        guard let transfer = stream.transfer else { return }
        if phase == .abandoned { return transfer.abandon() }
        // The cancellation is handled with the changes.
        guard !transfer.isCancelled else { return }
        if let switched = transfer.connection.switched { return fail(switched, failure) }
        guard transfer.failure == nil else { return table.end(transfer, nil) }
        // Further heads may follow those that were too large. They would count against the other streams.
        if case .head(.tooLarge) = failure.kind { leave(in: table) }
        if failure.kind == .extendedConnectNotOffered { return table.end(transfer, failure) }
        let reason = reason(failure, of: stream, transfer)
        if reason.asksForCalm { pool.calm.didReceiveCall(at: now) }
        var repetition =
            transfer.repetition.onHTTP2 ?? HTTP2Repetition(mayBeReplayed: transfer.options.mayBeReplayed)
        let decision = repetition.decide(
            reason, hasHead: stream.hasFinalHead, hasLostBody: transfer.sending.hasBegun)
        transfer.repetition.onHTTP2 = repetition
        switch decision {
        case .fails:
            var failure = self.failure(failure, after: reason, of: stream, transfer)
            // What the server says of this attempt is not all: it may have begun to answer, or have processed an earlier one.
            if stream.hasFinalHead || repetition.mayBeProcessed { failure = failure.as(failure.kind) }
            // A source may be able to deliver the body again.
            table.end(transfer, failure.kind == .bodyNotReplayable ? failure : failure.asFinal)
        case .again(let time): table.restart(transfer, after: time, now: now)
        case .againOverHTTP1 where !transfer.options.demandsHTTP2: table.restartOverHTTP1(transfer)
        case .againOverHTTP1: table.end(transfer, failure.asFinal)
        }
    }

    /// Returns the reason for which a stream has failed.
    private func reason(
        _ failure: EngineFailure, of stream: HTTP2Stream, _ transfer: Transfer
    ) -> HTTP2Repetition.Reason {
        if let goAway = unsafe session?.policy.goAway, goAway.excludes(stream.number) {
            return goAway.code == .noError && goAway.lastStream > 0 ? .passedOver : .excluded(goAway.code)
        }
        if let code = stream.resetCode { return .reset(code) }
        if failure.isUnprocessed { return phase == .failed ? .excluded(.noError) : .reset(.refusedStream) }
        return phase == .failed ? .lost(isUsed: transfer.wire.isReused) : .reset(.protocolError)
    }

    /// Returns the failure of a transfer that is not sent again after its stream has failed.
    private func failure(
        _ failure: EngineFailure, after reason: HTTP2Repetition.Reason, of stream: HTTP2Stream, _ transfer: Transfer
    ) -> EngineFailure {
        let isUnprocessed = HTTP2Repetition.isUnprocessed(reason)
        if stream.hasFinalHead { return failure.kind == .emptyReply ? failure.as(.bodyCutShort) : failure }
        guard isUnprocessed || reason == .lost(isUsed: true) else { return failure }
        if transfer.sending.hasBegun {
            let text = isUnprocessed ? "the server has refused the request" : EngineFailure.lossText(failure.message)
            return EngineFailure(kind: .bodyNotReplayable, message: text, isUnprocessed: isUnprocessed)
        }
        let mayBeSaid = isUnprocessed || transfer.options.mayBeReplayed
        return mayBeSaid ? failure : EngineFailure(kind: .replayRefused, message: "")
    }

    /// Returns the transfer of a stream, unless it is cancelled.
    private func present(_ stream: HTTP2Stream) -> Transfer? {
        guard let transfer = stream.transfer, !transfer.isCancelled else { return nil }
        return transfer
    }

    private func noteFirstByte(_ transfer: Transfer) {
        guard transfer.wire.firstByte == 0 else { return }
        transfer.connection.wire.firstByte = engine.executor.engineLoop.systemNow.nanoseconds
    }

    private func holdIfNeeded(_ stream: HTTP2Stream, _ transfer: Transfer) {
        if !stream.isHeld, transfer.pauses.holdsBody { session?.hold(stream) }
    }

    // MARK: Requests

    func fillBody(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
        guard let transfer = present(stream), transfer.failure == nil else { return HTTP2BodyPart(count: 0) }
        let count = unsafe transfer.fillUpload(room)
        // Another result than a count is that there are no bytes now.
        guard count >= 0, count <= room.count else { return HTTP2BodyPart(count: 0) }
        var length: Int64?
        if case .stream(let known) = transfer.options.body { length = known }
        let taken = transfer.sending.takenBytes
        let isAtEnd = count == 0 || transfer.upload.isAtEnd
        // The end of a body whose length is known may be announced after its response has come.
        let isEnd = isAtEnd || taken == length && !transfer.options.hasTrailers
        return HTTP2BodyPart(count: count, isEnd: isEnd, trailers: isEnd ? transfer.sending.trailers : nil)
    }

    func streamDidSendHead(_ stream: HTTP2Stream) {
        guard let transfer = present(stream) else { return }
        transfer.activity = (engine.now, engine.now)
        if transfer.options.isExtendedConnect { transfer.delegate?.transferIsConnected() }
    }

    func streamDidSendBody(_ stream: HTTP2Stream) {
        guard let transfer = present(stream) else { return }
        transfer.activity = (engine.now, engine.now)
    }

    // MARK: The connection

    func sessionDidChangeCapacity() {
        if let session {
            pool.streams = session.streamLimit
            unsafe table.counts.allow(session.streamLimit, on: queue)
        }
        isReady()
    }

    func sessionDidReceive(_ goAway: HTTP2GoAway) {
        if goAway.code == .enhanceYourCalm { pool.calm.didReceiveCall(at: now) }
        if goAway.code == .http11Required { pool.memory.didChooseHTTP1(now: engine.now, refusesHTTP2: true) }
        leave(in: table)
    }

    func sessionDidFail(_ failure: EngineFailure) {
        guard phase == .open else { return }
        phase = .failed
        leave(in: table)
    }
}

extension HTTP2Repetition.Reason {
    /// Whether the server asks for fewer requests.
    fileprivate var asksForCalm: Bool { self == .reset(.enhanceYourCalm) || self == .excluded(.enhanceYourCalm) }
}
