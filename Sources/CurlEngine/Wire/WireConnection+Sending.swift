import CCurl
private import Glibc

/// The request of a connection on its way to the server.
extension WireConnection {
    /// The number of bytes of a body that are sent in one turn of the loop, so that a fast server does not delay other connections.
    private static let sentPerTurn = 1 << 20
    /// The room in front of a part of the body for what stands before it.
    private static let framingSize = 32

    /// Sends the request of a transfer. The connection has no other one.
    func send(_ transfer: Transfer) {
        let (engine, table) = (transfer.engine, transfer.engine.wire)
        self.transfer = transfer
        if transfer.connection.http3.race != nil { engine.http3Races.hasConnected(transfer) }
        transfer.connection.wire.connection = self
        transfer.attempts += 1
        if transfer.options.readsCertificates, let tls = link.tls {
            transfer.delegate?.transferDidReceiveCertificates(tls.certificates)
            // Nothing is sent to a server whose certificates the delegate does not accept.
            guard !transfer.isCancelled, transfer.failure == nil else {
                forgetRequest()
                return engine.update(transfer)
            }
        }
        transfer.connection.localPort = port
        transfer.start = engine.now
        transfer.activity = (transfer.start, transfer.start)
        if transfer.options.connectionCount != nil { return table.keep(self, madeInAdvanceBy: transfer) }
        if transfer.options.sendsNothing {
            forgetRequest()
            return handOver(transfer)
        }
        var body: HTTP1OutgoingBody
        unsafe table.request.removeAll(keepingCapacity: true)
        do throws(EngineFailure) {
            body = try unsafe table.encoder.append(transfer.options, to: &table.request)
        } catch {
            forgetRequest()
            return table.end(transfer, error)
        }
        if case .bytes(let content) = transfer.options.body, !body.isComplete {
            // A body in memory waits for no response of status 100.
            unsafe table.request.append(contentsOf: content)
            body.didSend(content.count)
        }
        // Set at once: after two changes in place, every read of the variable would have to check for exclusive access at run time.
        outgoing = unsafe Outgoing(body: body, headSize: Int64(table.request.count), isComplete: body.isComplete)
        unsafe decoder = HTTP1ResponseDecoder(body.traits, limit: transfer.options.maximumHeaderBytes)
        if transfer.wire.isReused { observation?.change(isIdle: false) }
        transfer.delegate?.transferIsConnected()
        // If the delegate has cancelled the transfer, nothing of it is sent.
        guard !transfer.isCancelled, transfer.failure == nil else { return engine.update(transfer) }
        unsafe table.request.withUnsafeBytes { bytes in unsafe write(bytes) }
        if !outgoing.isComplete { pump(transfer) }
        updateInterest(transfer)
    }

    /// Forgets the last request: a transfer that sends none would otherwise report its measurements.
    private func forgetRequest() {
        outgoing = Outgoing()
        unsafe decoder = HTTP1ResponseDecoder(limit: 0)
    }

    /// Passes bytes to the system, and keeps those that it does not take now.
    private func write(_ bytes: UnsafeRawBufferPointer) {
        let count = outgoing.isWaiting ? 0 : unsafe push(bytes)
        guard count < bytes.count, outgoing.failure == nil else { return }
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[count...])
        if outgoing.isWaiting {
            let waiting = outgoing.bytes
            unsafe outgoing.bytes = waiting + rest
        } else {
            unsafe (outgoing.bytes, outgoing.start) = ([UInt8](rest), 0)
        }
    }

    /// Passes as many bytes as possible to the system. Returns their number.
    private func push(_ bytes: UnsafeRawBufferPointer) -> Int {
        let push = unsafe link.push(bytes)
        if push.stop != 0 { outgoing.waitsForServer = push.stop == Int(CCURL_TLS_MORE) }
        if push.stop == Int(CCURL_TLS_FAILED) {
            failed(link.failure("Send", CURLE_SEND_ERROR, error: push.error), push.error)
        }
        if push.count > 0 {
            outgoing.sentCount += Int64(push.count)
            if let transfer {
                let now = transfer.engine.now
                transfer.activity = (now, now)
            }
        }
        return push.count
    }

    /// Records that the rest of the request cannot be sent.
    private func failed(_ failure: EngineFailure, _ error: Int32) {
        // Not changed in place, as in ``send(_:)``.
        var outgoing = outgoing
        outgoing.failure = failure
        // The server may have ended its direction before. TLS tells the end of a body by an alert.
        outgoing.isBroken = error != EPIPE && link.tls == nil
        (outgoing.bytes, outgoing.start) = ([], 0)
        self.outgoing = outgoing
    }

    /// Sends the bytes that the socket had no room for, and more of the body.
    func sendRest(_ transfer: Transfer) {
        if outgoing.isWaiting, !transfer.pauses.isSuspended {
            let (bytes, start) = (outgoing.bytes, outgoing.start)
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe push(UnsafeRawBufferPointer(rebasing: bytes[start...]))
            }
            outgoing.start = start + count
            if !outgoing.isWaiting { (outgoing.bytes, outgoing.start) = ([], 0) }
        }
        if !outgoing.isComplete { pump(transfer) }
        guard transfer.wire.connection === self, !transfer.isCancelled else { return }
        updateInterest(transfer)
    }

    /// Sends more of the body, as far as its source has bytes and the socket takes them.
    private func pump(_ transfer: Transfer) {
        guard !fileSending.isUnderWay else { return }
        guard let buffer = unsafe transfer.engine.wire.buffer else {
            return transfer.engine.fail(transfer, .outOfMemory)
        }
        outgoing.isTurnOver = false
        var room = Self.sentPerTurn
        let start = Self.framingSize
        while !outgoing.isComplete, !outgoing.isWaiting, outgoing.failure == nil, room > 0 {
            if link.tls == nil, case .length(let rest)? = outgoing.body?.framing,
                let part = transfer.beginSendingFile(within: rest)
            {
                return send(part, isLast: part.count == rest, of: transfer)
            }
            let count = unsafe transfer.fillUpload(UnsafeMutableRawBufferPointer(rebasing: buffer[start...]))
            guard transfer.wire.connection === self, !transfer.isCancelled, transfer.failure == nil else { return }
            // Another result than a count is that there are no bytes now.
            guard count >= 0, count < buffer.count else { return }
            room -= count
            unsafe send(UnsafeRawBufferPointer(rebasing: buffer[start..<start + count]), of: transfer)
        }
        // The socket has room, so that the next turn of the loop continues.
        if room <= 0, !outgoing.isComplete, outgoing.failure == nil { outgoing.isTurnOver = true }
    }

    // MARK: Files

    /// Sends a part of a file on a thread that may wait for a disk.
    private func send(_ part: FileSource.Part, isLast: Bool, of transfer: Transfer) {
        (fileSending.isUnderWay, fileSending.isLast) = (true, isLast)
        BlockingThreadPool.begin(at: FileSystem.folder(of: part.path)) { [self] in
            let (count, outcome) = part.send(on: socket)
            transfer.engine.submit { [self] in didSend(count, outcome, of: part, for: transfer) }
        }
    }

    private func didSend(
        _ count: Int, _ outcome: FileReader.Sending, of part: FileSource.Part, for transfer: Transfer
    ) {
        (fileSending.isUnderWay, fileSending.isLast) = (false, false)
        guard !fileSending.isClosed else { return closeSocket() }
        outgoing.sentCount += Int64(count)
        outgoing.body?.didSend(count)
        if outgoing.body?.isComplete == true {
            outgoing.isComplete = true
        }
        var isSupported = true
        switch outcome {
        case .complete: break
        case .full: outgoing.isTurnOver = true
        case .unsupported: isSupported = false
        case .broken(let code):
            let text = EngineFailure.systemText(code)
            failed(EngineFailure(CURLE_SEND_ERROR, detail: "Send failure: \(text)"), code)
        case .failed(let error): transfer.fail(error, path: part.path)
        }
        transfer.didSendFile(count, isSupported: isSupported)
        guard transfer.wire.connection === self, !transfer.isCancelled, transfer.failure == nil else { return }
        if outgoing.isTurnOver { updateInterest(transfer) } else { sendRest(transfer) }
    }

    /// Closes the socket, as soon as no other thread uses it: its number would name another socket.
    func closeSocket() {
        fileSending.isClosed = true
        guard fileSending.isUnderWay else { return _ = Glibc.close(socket) }
        // The sending ends, unless it waits for a disk.
        _ = shutdown(socket, Int32(SHUT_RDWR))
        if let transfer { watch(for: [], on: transfer.engine) }
    }

    /// Sends a part of the body with its framing. No bytes are the end of the body, which also goes with the last part.
    private func send(_ bytes: UnsafeRawBufferPointer, of transfer: Transfer) {
        let table = transfer.engine.wire
        unsafe table.request.removeAll(keepingCapacity: true)
        var body = outgoing.body
        defer { outgoing.body = body }
        let (fits, isWhole) = (body?.didSend(bytes.count) ?? false, body?.isComplete ?? false)
        // The end of a body whose length is known may be announced after its response has come.
        let isEnd = unsafe bytes.isEmpty || transfer.upload.isAtEnd || isWhole
        do throws(EngineFailure) {
            // The server would take the difference for a part of the next request, or the next request for a part of the body.
            guard fits, !isEnd || isWhole || body?.framing == .chunked else {
                throw EngineFailure(kind: .internalError, message: "the body has another length than the one announced")
            }
            if unsafe !bytes.isEmpty {
                unsafe body?.appendPrefix(of: bytes.count, to: &table.request)
                if unsafe table.request.isEmpty, body?.framing != .chunked {
                    // Without framing, the bytes need no copy.
                    unsafe write(bytes)
                } else {
                    unsafe table.request.append(contentsOf: bytes)
                    unsafe body?.appendSuffix(to: &table.request)
                }
            }
            if isEnd {
                try unsafe body?.appendEnd(trailers: transfer.sending.trailers, to: &table.request)
                outgoing.isComplete = true
            }
        } catch {
            transfer.failure = error
            return transfer.engine.update(transfer)
        }
        guard unsafe !table.request.isEmpty else { return }
        unsafe table.request.withUnsafeBytes { bytes in unsafe write(bytes) }
    }
}
