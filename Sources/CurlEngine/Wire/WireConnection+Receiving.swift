import CCurl
import FoundationEssentials
private import Glibc

/// The response of a connection.
extension WireConnection {
    /// The number of bytes that are received in one turn of the loop, after which other connections have theirs.
    private static let receivedPerTurn = 256 << 10
    /// The part of ``receivedPerTurn`` that each record of TLS takes at least.
    private static let smallestShare = 1 << 10
    /// The number of bytes of a body from which the table's buffer becomes the reader's chunk. Fewer bytes are copied, so that a chunk
    /// fills at least half of its memory.
    private static let smallestChunk = BlockPool.blockSize / 2

    /// Handles the socket, which is ready.
    func isReady(_ ready: ReadySocket, in table: WireTable) {
        guard let transfer else {
            // The server has ended the idle connection, or has sent what nobody has asked for. Messages of TLS are no such bytes.
            if link.tls?.isQuiet() != true { table.close(self) }
            return
        }
        // A cancelled transfer is handled with the changes.
        guard !transfer.isCancelled else { return }
        guard transfer.connection.switched == nil else { return transfer.engine.advanceSwitched(transfer) }
        // An early response ends the sending. Bytes that are held are used first, with the changes of the transfer.
        var mayReceive = ready.interest.contains(.read)
        if outgoing.waitsForRoom, ready.interest.contains(.write) {
            (outgoing.waitsForRoom, mayReceive) = (false, true)
            updateInterest(transfer)
        }
        if mayReceive, held == nil, !fileSending.isLast, !receivesSoon { receive(transfer) }
        if ready.interest.contains(.write), interest.contains(.write), transfer.wire.connection === self,
            !transfer.isCancelled, transfer.connection.switched == nil
        {
            sendRest(transfer)
        }
        sendAfterServer(transfer)
    }

    /// Sends more if TLS has waited for a message of the server, which may be among the received bytes.
    private func sendAfterServer(_ transfer: Transfer) {
        guard outgoing.waitsForServer, transfer.wire.connection === self, !transfer.isCancelled,
            transfer.connection.switched == nil
        else { return }
        outgoing.waitsForServer = false
        sendRest(transfer)
    }

    func updateInterest(_ transfer: Transfer) {
        guard !outgoing.waitsForRoom else { return watch(for: .write, on: transfer.engine) }
        var interest: SocketInterest = isHeld(transfer) || fileSending.isLast ? [] : .read
        if outgoing.isWaiting || outgoing.isTurnOver, !transfer.pauses.isSuspended, !outgoing.waitsForServer {
            interest.insert(.write)
        }
        watch(for: interest, on: transfer.engine)
    }

    /// Whether the reader of a transfer takes no bytes now.
    private func isHeld(_ transfer: Transfer) -> Bool {
        let pauses = transfer.pauses
        return unsafe pauses.isSuspended
            || (pauses.isReceivingPaused || pauses.isYielding) && decoder.hasFinalHead
    }

    /// Continues a transfer after a change.
    func goOn(_ transfer: Transfer) {
        if let held, !isHeld(transfer) {
            self.held = nil
            transfer.pauses.applied &= ~1
            held.withBytes { use($0, areInBuffer: false, for: transfer) }
        }
        guard transfer.wire.connection === self, !transfer.isCancelled, transfer.connection.switched == nil else {
            return
        }
        sendRest(transfer)
        guard transfer.wire.connection === self, !transfer.isCancelled else { return }
        // The kernel does not know of bytes that TLS has received.
        guard held == nil, link.tls?.hasPending == true else { return }
        receive(transfer)
        sendAfterServer(transfer)
    }

    /// Receives bytes, as many as the socket has and one turn allows.
    private func receive(_ transfer: Transfer) {
        let engine = transfer.engine
        // Nothing of the request was sent: what has come on the idle connection is no response to it.
        if let failure = outgoing.failure, outgoing.sentCount == 0, transfer.wire.isReused {
            return isLost(transfer, failure)
        }
        let size = min(BlockPool.blockSize, max(transfer.options.receivePieceSize, 1))
        var room = Self.receivedPerTurn
        while !isHeld(transfer) {
            // The socket would be ready again at once.
            guard let buffer = unsafe engine.wire.buffer else { return engine.wire.end(transfer, .outOfMemory) }
            let count = unsafe link.receive(UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]))
            guard count > 0 else { return receivedNothing(count, for: transfer) }
            if transfer.wire.firstByte == 0 {
                transfer.connection.wire.firstByte = engine.executor.engineLoop.systemNow.nanoseconds
            }
            // The bytes of a head's line that does not end do not count against the idle limit.
            let headBytes = unsafe decoder.headBytes
            if unsafe decoder.hasFinalHead { transfer.activity.last = engine.now }
            use(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, areInBuffer: true, for: transfer)
            if unsafe decoder.headBytes != headBytes { transfer.activity.last = engine.now }
            // Each record of TLS costs work, however few bytes it has.
            room -= link.tls == nil ? count : max(count, Self.smallestShare)
            // A full buffer means that there may be more.
            guard transfer.wire.connection === self, !transfer.isCancelled, transfer.connection.switched == nil else {
                return
            }
            guard count == size || link.tls?.hasPending == true else { return }
            guard room > 0 else { return receiveSoon(transfer) }
        }
        updateInterest(transfer)
    }

    /// Continues to receive in the next turn of the loop. The kernel reports a socket again, but not the bytes that TLS has received.
    private func receiveSoon(_ transfer: Transfer) {
        guard link.tls != nil, !receivesSoon else { return }
        receivesSoon = true
        transfer.engine.submit { [self] in
            receivesSoon = false
            guard transfer.wire.connection === self, held == nil, !transfer.isCancelled,
                transfer.connection.switched == nil
            else { return }
            receive(transfer)
            sendAfterServer(transfer)
        }
    }

    /// Handles the end or the failure of the connection.
    private func receivedNothing(_ count: Int, for transfer: Transfer) {
        switch Int32(count) {
        // The thread that sends a file may have got the error of a broken connection, which the system reports only once.
        case 0 where fileSending.isUnderWay: watch(for: [], on: transfer.engine)
        case 0: hasEnded(transfer, isCutOff: false)
        case CCURL_TLS_WAIT: return
        case CCURL_TLS_MORE: receiveSoon(transfer)
        case CCURL_TLS_FULL:
            outgoing.waitsForRoom = true
            updateInterest(transfer)
        case CCURL_TLS_CUT_OFF: hasEnded(transfer, isCutOff: true)
        default: hasFailed(transfer, link.failure("Recv", CURLE_RECV_ERROR))
        }
    }

    /// Uses received bytes for the response to a transfer.
    ///
    /// - Parameter areInBuffer: Whether the bytes are in the table's buffer.
    private func use(_ bytes: RawSpan, areInBuffer: Bool, for transfer: Transfer) {
        var position = 0
        // The reader of a chunk may drop it, and its memory is needed for the bytes after it.
        var chunk: Data?
        defer { withExtendedLifetime(chunk) {} }
        let table = transfer.engine.wire
        do throws(EngineFailure) {
            while true {
                switch try unsafe decoder.next(in: bytes, at: &position) {
                case .more: return
                case .informational(let head): transfer.delegate?.transferDidReceiveInformational(head)
                case .head(let head):
                    if tellsTimeout(head, to: transfer) { return table.restart(transfer, needsConnection: true) }
                    receive(head, for: transfer)
                case .body(let range):
                    let mayTakeBuffer = areInBuffer && chunk == nil && range.count >= Self.smallestChunk
                    let taken = receive(range, of: bytes, mayTakeBuffer: mayTakeBuffer, for: transfer)
                    if let taken { chunk = taken }
                case .end(let trailers):
                    let keeps =
                        unsafe decoder.isReusable && outgoing.isSent && position == bytes.byteCount
                        && !transfer.options.switchesProtocols
                    return table.end(transfer, nil, trailers: trailers, keeps: keeps)
                case .switched(let head):
                    return try switchProtocols(head, bytes.extracting(position..<bytes.byteCount), of: transfer)
                }
                guard !transfer.isCancelled else {
                    // The changes of the transfer may find the end of the response.
                    held = [UInt8](copying: bytes.extracting(position..<bytes.byteCount))
                    return
                }
                if transfer.failure != nil { return table.end(transfer, nil) }
                if isHeld(transfer), !hasOnlyEnd(in: bytes, from: position) {
                    held = [UInt8](copying: bytes.extracting(position..<bytes.byteCount))
                    transfer.pauses.applied |= 1
                    return updateInterest(transfer)
                }
            }
        } catch {
            table.end(transfer, error)
        }
    }

    /// Whether the next event is the end of the response, for which no reader has to make room.
    private func hasOnlyEnd(in bytes: RawSpan, from position: Int) -> Bool {
        var (ahead, position) = unsafe (decoder, position)
        guard let event = try? ahead.next(in: bytes, at: &position), case .end = event else { return false }
        return true
    }

    /// Whether a head only tells that the server has closed the connection while that was idle (RFC 9110, section 15.5.9), and the request
    /// may be sent again.
    private func tellsTimeout(_ head: WireHead, to transfer: Transfer) -> Bool {
        guard head.status == 408, transfer.wire.isReused, unsafe decoder.closes, outgoing.isSent else { return false }
        return transfer.options.mayBeReplayed && !transfer.sending.hasBegun
    }

    private func receive(_ head: WireHead, for transfer: Transfer) {
        if transfer.options.decodesContent, unsafe decoder.hasContentCoding {
            transfer.receiving.codings = head.fields.contentCodings
        }
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        transfer.delegate?.transferDidReceiveHead(head)
    }

    /// Leaves the connection to another protocol, to which the bytes after the head belong.
    private func switchProtocols(_ head: WireHead, _ bytes: RawSpan, of transfer: Transfer) throws(EngineFailure) {
        // After a 101 to a part of the request, the rest of the request would be taken for the other protocol.
        guard outgoing.isSent else { throw EngineFailure(kind: .head(.unexpectedStatus(head.status)), message: "") }
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        let switched = SwitchedConnection(transfer, received: bytes, plainSocket: link.tls == nil ? socket : -1)
        // Only the engine thread uses OpenSSL's objects.
        if link.tls == nil { switched.allowDirectReading() }
        transfer.connection.switched = switched
        transfer.delegate?.transferDidSwitchProtocols(head, switched)
        transfer.engine.advanceSwitched(transfer)
    }

    /// Leaves the connection to the owner of a transfer that sends no request. Nothing was received on it.
    func handOver(_ transfer: Transfer) {
        transfer.delegate?.transferIsConnected()
        guard !transfer.isCancelled, transfer.failure == nil else { return transfer.engine.update(transfer) }
        let switched = SwitchedConnection(transfer, received: RawSpan(), plainSocket: link.tls == nil ? socket : -1)
        transfer.connection.switched = switched
        let head = WireHead(version: .http1_1, status: 101, reason: "", fields: WireFields())
        transfer.delegate?.transferDidSwitchProtocols(head, switched)
        transfer.engine.advanceSwitched(transfer)
    }

    /// Receives bytes of the body. Returns them as a chunk if the table's buffer has become one.
    private func receive(
        _ range: Range<Int>, of bytes: RawSpan, mayTakeBuffer: Bool, for transfer: Transfer
    ) -> Data? {
        if transfer.receiving.count == 0, !transfer.receiving.codings.isEmpty, !transfer.prepareDecoding() {
            return nil
        }
        transfer.receiving.count += Int64(range.count)
        if let decoder = transfer.receiving.decoder {
            _ = transfer.decode(bytes.extracting(range), with: decoder)
            return nil
        }
        guard mayTakeBuffer, let chunk = transfer.engine.wire.takeBuffer(range) else {
            transfer.delegate?.transferDidReceiveBody(bytes.extracting(range))
            return nil
        }
        transfer.delegate?.transferDidReceiveBody(chunk: chunk)
        return chunk
    }

    // MARK: Ends

    /// The number of bytes that are read of a response that nobody takes any more.
    private static let unreadLimit = 64 << 10

    /// Reads what has arrived of the response to a cancelled transfer. Returns whether that is all of it, so that the connection can be
    /// used again: the readers of events often leave after the last one, just before the end of the body.
    func finishUnread(_ transfer: Transfer) -> Bool {
        guard outgoing.isSent, !fileSending.isUnderWay, unsafe decoder.hasFinalHead,
            !transfer.options.switchesProtocols, transfer.connection.switched == nil,
            let buffer = unsafe transfer.engine.wire.buffer
        else { return false }
        var room = Self.unreadLimit
        if let held {
            self.held = nil
            if let isEnd = held.withBytes({ skip($0) }) { return isEnd }
            room -= held.count
        }
        while room > 0 {
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(room, buffer.count)])
            let count = unsafe link.receive(part)
            guard count > 0 else { return false }
            if let isEnd = unsafe skip(UnsafeRawBufferPointer(rebasing: part[..<count]).bytes) { return isEnd }
            room -= count
        }
        return false
    }

    /// Skips bytes of a response. Returns whether the connection can be used after them if they end the response or are malformed; `nil` if
    /// the response goes on.
    private func skip(_ bytes: RawSpan) -> Bool? {
        var position = 0
        while true {
            switch try? unsafe decoder.next(in: bytes, at: &position) {
            case .more: return nil
            case .body: continue
            case .end: return unsafe decoder.isReusable && position == bytes.byteCount
            case .informational, .head, .switched, nil: return false
            }
        }
    }

    /// Handles the end of the connection by the server, without the alert that TLS demands if `isCutOff` is `true`.
    private func hasEnded(_ transfer: Transfer, isCutOff: Bool) {
        let table = transfer.engine.wire
        guard unsafe decoder.hasStarted else {
            let failure = EngineFailure(CURLE_GOT_NOTHING, detail: "Empty reply from server")
            return isLost(transfer, explained(outgoing.failure ?? failure))
        }
        // An attacker may have ended the connection (RFC 9112, section 9.8).
        if isCutOff, unsafe decoder.framing == .untilEnd {
            let text = "the server ended the connection without ending TLS"
            return table.end(transfer, EngineFailure(kind: .bodyCutShort, message: text))
        }
        // A broken connection is not the end of a body.
        if outgoing.isBroken, let failure = outgoing.failure, unsafe decoder.framing == .untilEnd {
            return table.end(transfer, failure)
        }
        do throws(EngineFailure) {
            guard case .end(let trailers) = try unsafe decoder.connectionEnded() else { return }
            table.end(transfer, nil, trailers: trailers)
        } catch {
            // A connection that ends inside a head was lost.
            guard error.kind == .head(.cutShort), !transfer.options.switchesProtocols else {
                return table.end(transfer, error)
            }
            let text = "the server closed the connection inside the head of its response"
            table.end(transfer, EngineFailure(CURLE_RECV_ERROR, detail: text))
        }
    }

    private func hasFailed(_ transfer: Transfer, _ failure: EngineFailure) {
        guard unsafe !decoder.hasStarted else { return transfer.engine.wire.end(transfer, failure) }
        isLost(transfer, explained(outgoing.failure ?? failure))
    }

    /// Returns the failure with the reason that an alert of TLS gives.
    private func explained(_ failure: EngineFailure) -> EngineFailure { link.tls?.explained(failure) ?? failure }

    /// Handles the loss of the connection before the first byte of the response. A request on a connection that was idle before is sent
    /// again, if that is allowed.
    private func isLost(_ transfer: Transfer, _ failure: EngineFailure) {
        let table = transfer.engine.wire
        guard transfer.wire.isReused else { return table.end(transfer, failure) }
        guard transfer.options.mayBeReplayed || outgoing.sentCount == 0 else {
            return table.end(transfer, EngineFailure(kind: .replayRefused, message: ""))
        }
        guard !transfer.sending.hasBegun else {
            let text = EngineFailure.lossText(failure.message)
            return table.end(transfer, EngineFailure(kind: .bodyNotReplayable, message: text))
        }
        table.restart(transfer, needsConnection: true)
    }
}
