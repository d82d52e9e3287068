import CCurl
private import Glibc

/// The bytes of the connections on which the engine itself speaks HTTP/1.1.
extension CurlEngine {
    /// The number of bytes of a body that are sent in one turn of the loop, so that a fast server does not delay other connections.
    private static let sentPerTurn = 1 << 20
    private static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    /// Handles a ready socket. Returns `false` if the socket is libcurl's.
    func wireIsReady(_ ready: ReadySocket) -> Bool {
        guard wire.openCount > 0, let use = wire.use(of: ready) else { return false }
        switch use {
        case .attempt(let race): race.isReady(ready.descriptor)
        case .connection(let connection):
            guard let transfer = connection.transfer else {
                // The server has ended the idle connection, or has sent what nobody has asked for.
                wire.close(connection)
                return true
            }
            // A changed transfer is handled with the changes.
            guard !transfer.isCancelled else { return true }
            if ready.interest.contains(.write), connection.interest.contains(.write) {
                sendRest(connection, transfer)
            }
            if ready.interest.contains(.read), transfer.wire.connection === connection, !transfer.isCancelled {
                receive(connection, transfer)
            }
        }
        return true
    }

    func watch(_ connection: WireConnection, for interest: SocketInterest) {
        guard connection.interest != interest else { return }
        connection.interest = interest
        _ = executor.engineLoop.watch(connection.socket, generation: connection.generation, for: interest)
    }

    /// Sets the directions in which a connection with a transfer is watched.
    private func updateInterest(_ connection: WireConnection, _ transfer: Transfer) {
        var interest: SocketInterest = isHeld(connection, transfer) ? [] : .read
        if connection.outgoing.isWaiting, !transfer.pauses.isSuspended { interest.insert(.write) }
        watch(connection, for: interest)
    }

    // MARK: Sending

    /// Sends the request of a transfer on a connection that has no other one.
    func send(_ transfer: Transfer, on connection: WireConnection) {
        connection.transfer = transfer
        transfer.wire.connection = connection
        transfer.attempts += 1
        transfer.connection.localPort = connection.port
        transfer.start = now
        transfer.activity = (now, now)
        unsafe wire.request.removeAll(keepingCapacity: true)
        let body: HTTP1OutgoingBody
        do throws(EngineFailure) {
            body = try unsafe encoder.append(transfer.options, to: &wire.request)
        } catch {
            return endOnWire(transfer, error)
        }
        connection.outgoing = WireConnection.Outgoing()
        connection.outgoing.body = body
        connection.outgoing.isComplete = body.isComplete
        connection.outgoing.headSize = unsafe Int64(wire.request.count)
        unsafe connection.decoder = HTTP1ResponseDecoder(
            body.traits, limit: transfer.options.maximumHeaderBytes)
        if transfer.wire.isReused { connection.observation?.change(isIdle: false) }
        transfer.delegate?.transferIsConnected()
        // The delegate may have cancelled the transfer, of which nothing is sent then.
        guard !transfer.isCancelled, transfer.failure == nil else { return update(transfer) }
        unsafe wire.request.withUnsafeBytes { bytes in unsafe write(bytes, to: connection) }
        if !connection.outgoing.isComplete { pump(connection, transfer) }
        updateInterest(connection, transfer)
    }

    /// Passes bytes to the system, and keeps those that it does not take now.
    private func write(_ bytes: UnsafeRawBufferPointer, to connection: WireConnection) {
        let count = connection.outgoing.isWaiting ? 0 : unsafe push(bytes, to: connection)
        guard count < bytes.count, connection.outgoing.failure == nil else { return }
        if connection.outgoing.isWaiting {
            let waiting = connection.outgoing.bytes
            connection.outgoing.bytes = unsafe waiting + bytes
            return
        }
        unsafe connection.outgoing.bytes = [UInt8](UnsafeRawBufferPointer(rebasing: bytes[count...]))
        connection.outgoing.start = 0
    }

    /// Passes as many bytes as possible to the system. Returns their number.
    private func push(_ bytes: UnsafeRawBufferPointer, to connection: WireConnection) -> Int {
        var count = 0
        while count < bytes.count {
            let sent = unsafe Glibc.send(
                connection.socket, bytes.baseAddress.map { unsafe $0 + count }, bytes.count - count, Self.flags)
            if sent >= 0 {
                count += sent
                continue
            }
            if errno == EINTR { continue }
            if errno != EAGAIN {
                connection.outgoing.failure = EngineFailure(
                    CURLE_SEND_ERROR, detail: "Send failure: \(EngineFailure.systemText(errno))")
                connection.outgoing.bytes = []
                connection.outgoing.start = 0
            }
            break
        }
        if count > 0 {
            connection.outgoing.sentCount += Int64(count)
            connection.transfer?.activity = (now, now)
        }
        return count
    }

    /// Sends the bytes that the socket had no room for, and more of the body.
    private func sendRest(_ connection: WireConnection, _ transfer: Transfer) {
        if connection.outgoing.isWaiting, !transfer.pauses.isSuspended {
            let bytes = connection.outgoing.bytes
            let start = connection.outgoing.start
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe push(UnsafeRawBufferPointer(rebasing: bytes[start...]), to: connection)
            }
            connection.outgoing.start += count
            if connection.outgoing.start >= bytes.count {
                (connection.outgoing.bytes, connection.outgoing.start) = ([], 0)
            }
        }
        if !connection.outgoing.isComplete { pump(connection, transfer) }
        guard transfer.wire.connection === connection, !transfer.isCancelled else { return }
        updateInterest(connection, transfer)
    }

    /// The room in front of a part of the body for the size of its chunk, and behind it for the end of the body.
    private static let framingSize = 32

    /// Sends more of the body, as far as its source has bytes and the socket takes them.
    private func pump(_ connection: WireConnection, _ transfer: Transfer) {
        guard let buffer = unsafe wire.buffer else { return }
        var room = Self.sentPerTurn
        let start = Self.framingSize
        while !connection.outgoing.isComplete, !connection.outgoing.isWaiting, connection.outgoing.failure == nil,
            room > 0
        {
            let count = unsafe transfer.fillUpload(UnsafeMutableRawBufferPointer(rebasing: buffer[start...]))
            guard transfer.wire.connection === connection, !transfer.isCancelled, transfer.failure == nil else {
                return
            }
            guard count >= 0, count < buffer.count else { return }
            room -= count
            unsafe send(UnsafeRawBufferPointer(rebasing: buffer[start..<start + count]), of: transfer, on: connection)
        }
        if room <= 0, !connection.outgoing.isWaiting, !connection.outgoing.isComplete { update(transfer) }
    }

    /// Sends a part of the body with its framing. No bytes are the end of the body, which also goes with the last part.
    private func send(_ bytes: UnsafeRawBufferPointer, of transfer: Transfer, on connection: WireConnection) {
        unsafe wire.request.removeAll(keepingCapacity: true)
        var body = connection.outgoing.body
        defer { connection.outgoing.body = body }
        let isEnd = unsafe bytes.isEmpty || transfer.upload.isAtEnd
        do throws(EngineFailure) {
            if unsafe !bytes.isEmpty {
                unsafe body?.appendPrefix(of: bytes.count, to: &wire.request)
                if unsafe wire.request.isEmpty, body?.framing != .chunked {
                    // Without framing, the bytes need no copy.
                    unsafe write(bytes, to: connection)
                } else {
                    unsafe wire.request.append(contentsOf: bytes)
                }
                body?.didSend(bytes.count)
            }
            if isEnd {
                try unsafe body?.appendEnd(trailers: transfer.trailerLines, to: &wire.request)
                connection.outgoing.isComplete = true
                transfer.sending.hasPassedEnd = true
            }
        } catch {
            transfer.failure = error
            return update(transfer)
        }
        guard unsafe !wire.request.isEmpty else { return }
        unsafe wire.request.withUnsafeBytes { bytes in unsafe write(bytes, to: connection) }
    }

    // MARK: Receiving

    /// Whether the reader of a transfer takes no bytes now.
    private func isHeld(_ connection: WireConnection, _ transfer: Transfer) -> Bool {
        let pauses = transfer.pauses
        return unsafe pauses.isSuspended
            || (pauses.isReceivingPaused || pauses.isYielding) && connection.decoder.hasFinalHead
    }

    /// Continues a transfer after a change.
    func goOn(_ connection: WireConnection, _ transfer: Transfer) {
        if let held = connection.held, !isHeld(connection, transfer) {
            connection.held = nil
            held.withBytes { use($0, connection, transfer) }
        }
        guard transfer.wire.connection === connection, !transfer.isCancelled else { return }
        sendRest(connection, transfer)
    }

    /// Receives bytes, as many as the socket has and one turn allows.
    private func receive(_ connection: WireConnection, _ transfer: Transfer) {
        guard let buffer = unsafe wire.buffer else { return }
        let size = min(buffer.count, max(transfer.options.receiveBufferSize, 1))
        var room = buffer.count
        while !isHeld(connection, transfer) {
            let count = unsafe recv(connection.socket, buffer.baseAddress, size, Self.flags)
            guard count > 0 else { return receivedNothing(count, connection, transfer) }
            transfer.activity.last = now
            if transfer.wire.firstByte == 0 {
                transfer.wire.firstByte = executor.engineLoop.systemNow.nanoseconds
            }
            use(unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, connection, transfer)
            room -= count
            // A full buffer means that there may be more.
            guard count == size, room > 0, transfer.wire.connection === connection, !transfer.isCancelled else {
                return
            }
        }
        updateInterest(connection, transfer)
    }

    /// Handles the end or the failure of a connection.
    private func receivedNothing(_ count: Int, _ connection: WireConnection, _ transfer: Transfer) {
        if count == 0 { return connectionHasEnded(connection, transfer) }
        guard errno != EAGAIN, errno != EINTR else { return }
        let failure = EngineFailure(CURLE_RECV_ERROR, detail: "Recv failure: \(EngineFailure.systemText(errno))")
        connectionHasFailed(connection, transfer, failure)
    }

    /// Uses received bytes for the response to a transfer.
    private func use(_ bytes: RawSpan, _ connection: WireConnection, _ transfer: Transfer) {
        var position = 0
        do throws(EngineFailure) {
            while true {
                switch try unsafe connection.decoder.next(in: bytes, at: &position) {
                case .more: return
                case .informational(let head): transfer.delegate?.transferDidReceiveInformational(head)
                case .head(let head): receive(head, connection, transfer)
                case .body(let range): receive(bytes.extracting(range), connection, transfer)
                case .end(let trailers):
                    let keeps =
                        unsafe connection.decoder.isReusable && connection.outgoing.isSent
                        && position == bytes.byteCount
                    return endOnWire(transfer, nil, trailers: trailers, keeps: keeps)
                case .switched: throw EngineFailure(kind: .head(.unexpectedStatus(101)), message: "")
                }
                guard !transfer.isCancelled else { return }
                if transfer.failure != nil { return endOnWire(transfer, nil) }
                if isHeld(connection, transfer) {
                    connection.held = [UInt8](copying: bytes.extracting(position..<bytes.byteCount))
                    return updateInterest(connection, transfer)
                }
            }
        } catch {
            endOnWire(transfer, error)
        }
    }

    private func receive(_ head: WireHead, _ connection: WireConnection, _ transfer: Transfer) {
        if transfer.options.decodesContent, unsafe connection.decoder.hasContentCoding {
            transfer.receiving.codings = head.fields.contentCodings
        }
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        transfer.delegate?.transferDidReceiveHead(head)
    }

    private func receive(_ bytes: RawSpan, _ connection: WireConnection, _ transfer: Transfer) {
        if transfer.receiving.count == 0, !transfer.receiving.codings.isEmpty, !transfer.prepareDecoding() { return }
        transfer.receiving.count += Int64(bytes.byteCount)
        if let decoder = transfer.receiving.decoder {
            _ = transfer.decode(bytes, with: decoder)
        } else {
            transfer.delegate?.transferDidReceiveBody(bytes)
        }
    }

    // MARK: Ends

    /// Handles the end of a connection by the server.
    private func connectionHasEnded(_ connection: WireConnection, _ transfer: Transfer) {
        guard unsafe connection.decoder.hasStarted else {
            let failure = EngineFailure(CURLE_GOT_NOTHING, detail: "Empty reply from server")
            return connectionIsLost(connection, transfer, connection.outgoing.failure ?? failure)
        }
        do throws(EngineFailure) {
            guard case .end(let trailers) = try unsafe connection.decoder.connectionEnded() else { return }
            endOnWire(transfer, nil, trailers: trailers)
        } catch {
            endOnWire(transfer, error)
        }
    }

    private func connectionHasFailed(_ connection: WireConnection, _ transfer: Transfer, _ failure: EngineFailure) {
        guard unsafe !connection.decoder.hasStarted else { return endOnWire(transfer, failure) }
        connectionIsLost(connection, transfer, connection.outgoing.failure ?? failure)
    }

    /// Handles the loss of a connection before the first byte of the response. A request whose connection was idle before is sent again, if
    /// that is allowed.
    private func connectionIsLost(_ connection: WireConnection, _ transfer: Transfer, _ failure: EngineFailure) {
        guard transfer.wire.isReused else { return endOnWire(transfer, failure) }
        let isUnsent = connection.outgoing.sentCount == 0
        guard transfer.options.mayBeReplayed || isUnsent else {
            return endOnWire(transfer, EngineFailure(kind: .replayRefused, message: ""))
        }
        guard !transfer.sending.hasBegun else {
            let text = EngineFailure.lossText(failure.message)
            return endOnWire(transfer, EngineFailure(kind: .bodyNotReplayable, message: text))
        }
        restartOnWire(transfer)
    }
}

extension Transfer {
    /// The fields after the body, if any.
    fileprivate var trailerLines: HeaderLines? {
        guard !sending.trailerLines.isEmpty else { return nil }
        return HeaderLines(
            lines: sending.trailerLines.map { line in
                String(decoding: line.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            })
    }
}

extension EngineFailure {
    /// Returns the system's words for an error.
    static func systemText(_ error: Int32) -> String { unsafe String(cString: strerror(error)) }
}
