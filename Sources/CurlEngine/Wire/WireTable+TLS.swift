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
            // Nothing of the request was sent. Others go on waiting for the connection.
            let (needsConnection, sharing) = (transfer.wire.needsConnection, transfer.wire.sharing)
            transfer.connection.wire.sharing = .none
            restart(transfer, needsConnection: needsConnection)
            transfer.connection.wire.sharing = sharing
            return
        }
        end(transfer, failure)
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

/// The transfers that may share HTTP/2 connections.
extension WireTable {
    /// Sends the request of a transfer on a stream, or lets it wait for one. Returns `false` if the transfer goes on alone: over HTTP/1.1,
    /// or with a connection whose protocol the server chooses.
    func share(_ transfer: Transfer) -> Bool {
        guard transfer.wire.sharing != .leading, transfer.options.sharesStreams else {
            return false
        }
        let name = transfer.options.wirePool
        let pool = unsafe http2.pool(name, now: transfer.engine.now)
        if pool.calm.isOn(at: transfer.engine.executor.engineLoop.systemNow), let end = pool.calm.end {
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            delay(transfer, until: end)
            return true
        }
        switch pool.way(for: transfer, hasIdle: hasIdle(name), now: transfer.engine.now) {
        case .stream(let connection):
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            connection.send(transfer)
            return true
        case .wait:
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            waiting.insert(transfer)
            pool.wait(transfer)
            return true
        case .connection:
            pool.begin(transfer)
            return false
        case .http1: return false
        }
    }

    /// Begins to speak HTTP/2 on a connection that was made for a transfer, if that is the protocol. Returns `false` if it is HTTP/1.1.
    func beginSharing(
        _ link: WireLink, to peer: Peer, for transfer: Transfer, interest: SocketInterest
    ) -> Bool {
        let engine = transfer.engine
        let isKnown = transfer.options.version == .http2PriorKnowledge
        guard transfer.options.sharesStreams else { return false }
        let pool = unsafe http2.pool(transfer.options.wirePool, now: engine.now)
        guard isKnown || link.tls?.hasAgreedOnHTTP2 == true else {
            if transfer.wire.sharing == .leading { restart(pool.didConnect(transfer, now: engine.now)) }
            guard transfer.options.version == .http2Only else { return false }
            link.tls?.close()
            closeAttempt(link.socket)
            let text = "the server has not agreed on HTTP/2 in the TLS handshake (ALPN)"
            end(transfer, EngineFailure(kind: .http2NotAgreed, message: text))
            return true
        }
        guard
            let connection = HTTP2Connection(
                link, generation: generation(of: link.socket), peer: peer, in: pool, for: transfer)
        else {
            link.tls?.close()
            closeAttempt(link.socket)
            end(transfer, .outOfMemory)
            return true
        }
        connection.interest = interest
        promote(connection)
        transfer.connection.wire.isCounted = false
        pool.add(connection, of: transfer)
        connection.send(transfer)
        connection.isReady()
        return true
    }

    /// Removes a transfer from those that may share connections.
    func stopSharing(_ transfer: Transfer) {
        waiting.remove(transfer)
        guard let pool = unsafe http2.known(transfer.options.wirePool) else { return }
        restart(pool.leave(transfer))
    }

    private func restart(_ transfers: [Transfer]) {
        guard let engine = transfers.first?.engine else { return }
        for transfer in transfers { waiting.remove(transfer) }
        engine.enqueue(transfers)
    }

    /// Returns whether a waiting transfer waits for a stream, and not for the first connection.
    func waitsForStream(_ transfer: Transfer) -> Bool {
        unsafe http2.known(transfer.options.wirePool)?.hasConnections ?? false
    }

    /// Returns the reason why a transfer is not connected yet; `nil` if it does not wait for others.
    func reasonForWaiting(_ transfer: Transfer) -> String? {
        switch transfer.wire.sharing {
        case .none, .leading: nil
        case .delayed: "the server has refused requests"
        case .waiting: unsafe http2.known(transfer.options.wirePool)?.reasonForWaiting
        }
    }

    // MARK: Delays

    /// Starts a transfer again, after a time. Without one, the transfer is the first on the next connection: a server that takes some
    /// requests for each connection would refuse it again and again.
    func restart(_ transfer: Transfer, after time: Duration, now: EngineInstant) {
        prepareToRestart(transfer, needsConnection: false)
        guard time > .zero else { return transfer.engine.enqueueFirst(transfer) }
        delay(transfer, until: now.advanced(by: time))
    }

    private func delay(_ transfer: Transfer, until instant: EngineInstant) {
        transfer.connection.wire.sharing = .delayed
        waiting.insert(transfer)
        transfer.engine.executor.engineLoop.set(EngineTimer(HTTP2Delay(transfer)), onSystemAt: instant)
    }

    // MARK: Turns

    /// Sends what the HTTP/2 connections have to send, for all streams together.
    func flushStreams() {
        while unsafe !http2.ready.isEmpty {
            let ready = unsafe http2.ready
            unsafe http2.ready = []
            for connection in ready {
                connection.isReadyListed = false
                serve(connection.pool, now: connection.now)
                connection.flush()
            }
        }
    }

    /// Lets transfers go on that wait for streams.
    private func serve(_ pool: HTTP2Pool, now: EngineInstant) {
        // A server that asks for calm gets nothing for a time.
        if pool.hasWaiting, pool.calm.isOn(at: now), let end = pool.calm.end {
            for transfer in pool.takeAll() { delay(transfer, until: end) }
        }
        while pool.hasWaiting {
            guard let way = pool.wayForNext, let transfer = pool.next() else { return }
            waiting.remove(transfer)
            if pool.hasConnections { transfer.place.waitEnd = transfer.engine.now }
            switch way {
            case .stream(let connection): connection.send(transfer)
            default:
                pool.begin(transfer)
                start(transfer)
            }
        }
    }
}

/// The end of a transfer's wait for an instant.
private final class HTTP2Delay: EngineTimerTarget {
    private let transfer: Transfer

    init(_ transfer: Transfer) { self.transfer = transfer }

    func timerIsDue() {
        // The transfer may have been cancelled.
        guard transfer.wire.sharing == .delayed else { return }
        transfer.connection.wire.sharing = .none
        transfer.engine.wire.waiting.remove(transfer)
        transfer.engine.resume(transfer)
    }
}
