import CCurl

/// The transfers that ask their server to switch protocols, and the connections that they get.
///
/// The connection is a ``WireConnection``, before and after the switch, or one that libcurl has made. libcurl keeps such a transfer and
/// closes the connection with it, but has no interest in its socket any more, and gives it to no other transfer.
extension CurlEngine {
    /// Continues a transfer whose connection libcurl has made.
    func beginConnectOnly(_ transfer: Transfer) {
        // The transfer is removed with the next changes.
        guard !transfer.isCancelled else { return }
        guard let multi, let easy = transfer.easy, transfer.failure == nil, easy.connectOnlySocket >= 0 else {
            if transfer.failure == nil {
                transfer.failure = EngineFailure(kind: .connect, message: "libcurl has made no connection")
            }
            return end(transfer, CURLE_OK)
        }
        easy.socket = easy.connectOnlySocket
        easy.socketGeneration = unsafe multi.sockets.generation(of: easy.socket)
        // The buffer of the transfer is small, because libcurl only makes the connection. Older versions receive no more than that at once.
        easy.set(CURLOPT_BUFFERSIZE, SwitchHandshake.receiveSize)
        transfer.handshake = SwitchHandshake(transfer, easy, socket: easy.socket, now: now)
        multi.connectOnly[easy.socket] = transfer
        advanceConnectOnly(transfer)
    }

    /// Sends and receives on the connection of a transfer that switches protocols, as far as that is possible now. Before the switch, the
    /// connection is libcurl's.
    ///
    /// Called when the socket is ready and when a buffer has changed. TLS may hold bytes that it has received already, and of which the
    /// kernel knows nothing, so that each call receives first and waits for the socket afterwards.
    func advanceConnectOnly(_ transfer: Transfer) {
        guard let channel = self.channel(of: transfer), !transfer.isCancelled else { return }
        if let failure = transfer.failure {
            // The watchdog has shut down the connection.
            transfer.connection.switched?.didFail(failure)
            transfer.connection.switched?.wakeReader()
            return endExchange(transfer)
        }
        guard let buffer = unsafe wire.buffer else {
            transfer.failure = EngineFailure(kind: .outOfMemory, message: "no memory to receive")
            return endExchange(transfer)
        }
        var step = SwitchHandshake.Step.wait([])
        if let handshake = transfer.handshake, transfer.connection.switched == nil {
            let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<SwitchHandshake.receiveSize])
            step = unsafe handshake.advance(channel, buffer)
        }
        // The bytes of the connection may have been received with the head.
        if let connection = transfer.connection.switched, !transfer.isCancelled {
            step = connection.serve(channel, wire)
        }
        guard !transfer.isCancelled else { return }
        switch step {
        case .wait(let interest): watch(transfer, for: interest)
        case .goOn: submit { [self] in advanceConnectOnly(transfer) }
        case .end: endExchange(transfer)
        }
    }

    private func endExchange(_ transfer: Transfer) {
        if transfer.isOnWire { wire.end(transfer, nil) } else { end(transfer, CURLE_OK) }
    }

    private func watch(_ transfer: Transfer, for interest: SocketInterest) {
        if let connection = transfer.wire.connection { return connection.watch(for: interest, on: self) }
        guard let multi, let handshake = transfer.handshake, handshake.interest != interest else { return }
        handshake.interest = interest
        unsafe multi.sockets.want(handshake.socket, interest, for: ObjectIdentifier(transfer))
    }

    /// Sends the outgoing bytes of a connection at once, for a writer on this thread, so that they need not wait for the next turn. Further
    /// bytes of the same turn are collected, and sent together.
    func sendConnectOnly(_ transfer: Transfer) {
        guard !transfer.isCancelled, transfer.failure == nil, let connection = transfer.connection.switched,
            let channel = self.channel(of: transfer),
            connection.mayBeginSending(in: executor.engineLoop.systemNow),
            // The rest is sent when the socket is ready.
            connection.send(channel) == nil
        else { return submit { [self] in advanceConnectOnly(transfer) } }
    }

    /// Returns the channel for the bytes of a transfer; `nil` if the transfer has no connection any more.
    private func channel(of transfer: Transfer) -> ConnectionChannel? {
        if let connection = transfer.wire.connection { return ConnectionChannel(connection.link) }
        guard transfer.handshake != nil, let multi, let easy = transfer.easy else { return nil }
        return ConnectionChannel(multi, easy)
    }

    /// Sends the last bytes of a connection that ends, as far as the socket's buffer takes them at once.
    func flushConnectOnly(_ transfer: Transfer) {
        guard let connection = transfer.connection.switched, let channel = self.channel(of: transfer) else { return }
        _ = connection.send(channel)
    }

    /// Forgets a transfer whose connection libcurl has closed. Its socket may already belong to another transfer.
    func endConnectOnly(_ transfer: Transfer) {
        if let socket = transfer.handshake?.socket, multi?.connectOnly[socket] === transfer {
            multi?.connectOnly[socket] = nil
        }
        transfer.handshake = nil
        transfer.leaveSwitched()
    }
}
