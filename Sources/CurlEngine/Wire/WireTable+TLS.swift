import CCurl

/// The TLS handshakes that libcurl makes on sockets of the table.
extension WireTable {
    /// Begins the TLS handshake of a transfer on the socket that was connected for it.
    func secure(_ transfer: Transfer, on socket: Int32, to peer: Peer) {
        guard let group = group(with: transfer.engine),
            let tls = WireTLS(transfer, in: group, socket: socket, peer: peer)
        else {
            closeAttempt(socket)
            return end(transfer, .outOfMemory)
        }
        setUse(socket, .handshake(tls))
        transfer.connection.wire.tls = tls
        // libcurl names its own interest in the socket.
        handshake(on: socket, wants: [])
        if let failure = tls.begin(for: transfer) { return end(transfer, failure) }
        group.act(on: nil)
    }

    /// Returns a group with room for one connection more; `nil` if memory has run out.
    private func group(with engine: CurlEngine) -> TLSGroup? {
        if let group = groups.first(where: \.hasRoom) { return group }
        guard let multi = engine.multi, let group = TLSGroup(self, engine.configuration, watch: multi.watch) else {
            return nil
        }
        groups.append(group)
        return group
    }

    /// Sets libcurl's interest in a socket.
    func handshake(on socket: Int32, wants interest: SocketInterest) {
        guard case .handshake(let tls)? = use(of: socket), let engine = tls.transfer?.engine else { return }
        _ = engine.executor.engineLoop.watch(socket, generation: generation(of: socket), for: interest)
    }

    /// Handles the end of the handshake of a transfer.
    func handshakeDidEnd(for transfer: Transfer, _ code: CURLcode) {
        guard let tls = transfer.wire.tls else { return }
        if let failure = tls.handshakeDidEnd(code) {
            let mayHaveBeenSent = transfer.wire.needsConnection && !transfer.options.mayBeReplayed
            return end(transfer, mayHaveBeenSent ? failure.as(.replayRefused) : failure)
        }
        // The transfer is ended with the changes.
        guard !transfer.isCancelled, transfer.failure == nil else { return }
        transfer.connection.wire.tls = nil
        transfer.connection.wire.secured = MonotonicClock.now().nanoseconds
        begin(WireLink(socket: tls.socket, tls: tls), to: tls.peer, for: transfer)
    }

    /// Ends a handshake, or what it has made, of which nothing was used.
    func end(_ tls: WireTLS, of transfer: Transfer) {
        transfer.connection.wire.tls = nil
        tls.close()
        closeAttempt(tls.socket)
    }

    /// The instant by which libcurl must be called for handshakes, if there is a limit.
    var deadline: EngineInstant? { groups.isEmpty ? nil : groups.lazy.compactMap(\.deadline).min() }

    /// Runs libcurl for the handshakes whose deadline has come.
    func act(ifDueAt now: EngineInstant) {
        guard !groups.isEmpty else { return }
        for group in groups where group.deadline.map({ $0 <= now }) ?? false { group.act(on: nil) }
    }

    /// Fails the transfer of a connection that the watchdog has shut down, because its server kept OpenSSL busy.
    func didCut(_ cut: CallWatch.Cut) {
        let transfer: Transfer?
        switch use(of: cut.socket) {
        case .connection(let connection)?: transfer = connection.transfer
        case .http2(let connection)?: return connection.fail(EngineFailure(kind: .flooded, message: ""))
        case .handshake(let tls)?: transfer = tls.transfer
        case .attempt?, nil: transfer = nil
        }
        guard let transfer, transfer.failure == nil else { return }
        transfer.failure = EngineFailure(kind: .flooded, message: "")
        transfer.engine.update(transfer)
    }
}
