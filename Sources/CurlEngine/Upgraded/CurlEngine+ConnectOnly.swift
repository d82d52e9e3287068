import CCurl

/// The connections that libcurl only makes, and on which the engine itself sends and receives, for transfers that ask their server to
/// switch protocols.
///
/// Such a transfer stays in libcurl, because libcurl closes its connection with it, but libcurl has no interest in its socket any more, and
/// gives its connection to no other transfer. A connection without TLS is taken from libcurl as soon as the protocols are switched
/// (``takeConnection(of:)``); one with TLS stays there until its end.
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
        easy.set(CURLOPT_BUFFERSIZE, ConnectOnlyTransfers.receiveSize)
        transfer.handshake = SwitchHandshake(transfer, easy, socket: easy.socket, now: now)
        connectOnlyTransfers.add(transfer, on: easy.socket)
        advanceConnectOnly(transfer)
    }

    /// Sends and receives on the connection of a transfer, as far as that is possible now.
    ///
    /// Called when the socket is ready and when a buffer has changed. TLS may hold bytes that it has received already, and of which the
    /// kernel knows nothing, so that each call receives first and waits for the socket afterwards.
    func advanceConnectOnly(_ transfer: Transfer) {
        guard let multi, let handshake = transfer.handshake, let channel = self.channel(of: transfer),
            !transfer.isCancelled
        else { return }
        if let failure = transfer.failure {
            // The watchdog has shut down the connection.
            handshake.connection?.didFail(failure)
            handshake.connection?.wakeReader()
            return end(transfer, CURLE_OK)
        }
        guard let buffer = unsafe connectOnlyTransfers.buffer else {
            transfer.failure = EngineFailure(kind: .outOfMemory, message: "no memory to receive")
            return end(transfer, CURLE_OK)
        }
        var step = SwitchHandshake.Step.wait([])
        if handshake.connection == nil {
            let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<ConnectOnlyTransfers.receiveSize])
            step = unsafe handshake.advance(channel, buffer)
        }
        // The bytes of the connection may have been received with the head.
        if let connection = handshake.connection, !transfer.isCancelled { step = serve(transfer, connection) }
        guard !transfer.isCancelled else { return }
        switch step {
        case .wait(let interest):
            guard handshake.interest != interest else { return }
            handshake.interest = interest
            unsafe multi.sockets.want(handshake.socket, interest, for: ObjectIdentifier(transfer))
        case .goOn: submit { [self] in advanceConnectOnly(transfer) }
        case .end: end(transfer, CURLE_OK)
        }
    }

    /// Moves the bytes of a connection, which is taken from libcurl as soon as libcurl has none of its bytes any more.
    private func serve(_ transfer: Transfer, _ connection: SwitchedConnection) -> SwitchHandshake.Step {
        if ConnectionChannel.keepsNoBytes, !takeConnection(of: transfer) { return .end }
        guard let channel = self.channel(of: transfer) else { return .end }
        let step = connection.serve(channel, connectOnlyTransfers)
        // Everything was received that libcurl and the socket had.
        if case .wait(let interest) = step, interest.contains(.read), !takeConnection(of: transfer) { return .end }
        return step
    }

    /// Sends the outgoing bytes of a connection at once, for a writer on this thread, so that they need not wait for the next turn. Further
    /// bytes of the same turn are collected, and sent together.
    func sendConnectOnly(_ transfer: Transfer) {
        let turn = executor.engineLoop.systemNow
        guard let handshake = transfer.handshake, handshake.lastSendTurn != turn, let connection = handshake.connection,
            let channel = self.channel(of: transfer), !transfer.isCancelled, transfer.failure == nil
        else {
            return submit { [self] in advanceConnectOnly(transfer) }
        }
        handshake.lastSendTurn = turn
        // The rest is sent when the socket is ready.
        guard connection.send(channel) else {
            return submit { [self] in advanceConnectOnly(transfer) }
        }
    }

    /// Returns the channel for the bytes of a transfer; `nil` if the transfer has no connection any more.
    private func channel(of transfer: Transfer) -> ConnectionChannel? {
        if transfer.hasTakenConnection { return transfer.handshake.map { ConnectionChannel(socket: $0.socket) } }
        guard let multi, let easy = transfer.easy else { return nil }
        return ConnectionChannel(multi, easy, isEncrypted: transfer.options.isEncryptedOnTheWire)
    }

    /// Sends the last bytes of a connection that ends, as far as the socket's buffer takes them at once.
    func flushConnectOnly(_ transfer: Transfer) {
        guard let connection = transfer.handshake?.connection, let channel = self.channel(of: transfer) else { return }
        _ = connection.send(channel)
    }

    /// Forgets a transfer whose connection libcurl has closed, or closes the connection that was taken from libcurl.
    func endConnectOnly(_ transfer: Transfer) {
        // Before the socket is closed: a writer may be sending on it.
        connectOnlyTransfers.remove(transfer)
        closeTakenConnection(of: transfer)
        transfer.handshake?.connection?.dropBytes()
        // The connection and the transfer refer to each other.
        transfer.handshake = nil
    }
}
