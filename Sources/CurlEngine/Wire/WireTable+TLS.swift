import CCurl

/// The handshakes that libcurl makes on sockets of the table, with proxies and of TLS.
extension WireTable {
    /// Begins the handshakes of a transfer on the socket that was connected for it.
    ///
    /// - Parameter far: The address for which a SOCKS proxy is asked, if it wants one.
    func secure(_ transfer: Transfer, on socket: Int32, to peer: Peer, asking far: IPAddress?) {
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
        if let failure = tls.begin(for: transfer, asking: far) { return end(transfer, failure) }
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
        if let failure = tls.handshakeDidEnd(code) { return handshakeHasFailed(for: transfer, failure) }
        // The transfer is ended with the changes.
        guard !transfer.isCancelled, transfer.failure == nil else { return }
        transfer.connection.wire.tls = nil
        if transfer.options.isEncryptedOnTheWire {
            transfer.connection.wire.secured = MonotonicClock.now().nanoseconds
        }
        // Without TLS, the socket is all that is needed.
        if tls.kind == .none { tls.close() }
        begin(WireLink(socket: tls.socket, tls: tls.kind == .none ? nil : tls), to: tls.peer, for: transfer)
    }

    private func handshakeHasFailed(for transfer: Transfer, _ failure: EngineFailure) {
        guard let failure = transfer.failure ?? transfer.considerChallenge(failure) else {
            // Nothing of the request was sent.
            let needsConnection = transfer.wire.needsConnection
            restart(transfer)
            transfer.connection.wire.needsConnection = needsConnection
            return
        }
        let mayHaveBeenSent = transfer.wire.needsConnection && !transfer.options.mayBeReplayed
        end(transfer, mayHaveBeenSent ? failure.as(.replayRefused) : failure)
    }

    /// Returns a new socket for the handshakes of a transfer, for libcurl to connect with the same address: a proxy may end the connection
    /// after it has asked for credentials. A negative result means that there is none.
    func reopen(_ tls: WireTLS, for transfer: Transfer) -> Int32 {
        let (engine, route) = (transfer.engine, transfer.options.route)
        guard transfer.failure == nil, !transfer.isCancelled, tls.easy.proveTunnel() else { return -1 }
        let socket =
            if let path = route.unixSocket {
                unsafe route.isConnectedByEngine
                    ? ccurl_unix_connect(path.name, path.isAbstract) : ccurl_socket_open_unix()
            } else if let address = IPAddress(tls.peer.address) {
                route.open(address, 0, sendingLimit: engine.configuration.sendingLimitMilliseconds).socket
            } else {
                Int32(-1)
            }
        guard socket >= 0 else { return -1 }
        transfer.reportConnection(to: tls.peerName)
        closeAttempt(tls.socket)
        unsafe engine.multi?.sockets.willClose(socket)
        _ = add(socket, .handshake(tls))
        tls.replaceSocket(by: socket)
        return socket
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
