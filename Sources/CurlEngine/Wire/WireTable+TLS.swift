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
        // libcurl says when it waits for the socket.
        handshake(on: socket, wants: [])
        if let failure = tls.begin(for: transfer, asking: far) { return end(transfer, failure) }
        group.act(on: nil)
    }

    /// Returns a group with room for one connection more; `nil` if memory has run out.
    private func group(with engine: CurlEngine) -> TLSGroup? {
        if let group = groups.first(where: \.hasRoom) { return group }
        guard let watches = engine.watches,
            let group = TLSGroup(self, engine.configuration, watch: watches.calls)
        else { return nil }
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
        guard transfer.failure != nil || !asksForProof(failure, transfer) else {
            // Nothing of the request was sent. Others go on waiting for the connection.
            let (needsConnection, sharing) = (transfer.wire.needsConnection, transfer.wire.sharing)
            transfer.connection.wire.sharing = .none
            restart(transfer, needsConnection: needsConnection)
            transfer.connection.wire.sharing = sharing
            return
        }
        end(transfer, transfer.failure ?? failure)
    }

    /// Returns whether a proxy has refused a tunnel and asks for a proof that can be made.
    private func asksForProof(_ failure: EngineFailure, _ transfer: Transfer) -> Bool {
        guard let proofs = transfer.options.route.proofs, !transfer.isCancelled,
            case .proxy(_, .refused(let status, _)) = failure.kind, status == 401 || status == 407
        else { return false }
        return transfer.connection.tunnel.mayAskAgain(with: proofs)
    }

    /// Returns a new socket for the handshakes of a transfer, for libcurl to connect with the same address: a proxy may end the connection
    /// after it has asked for credentials. A negative result means that there is none, as for a server: libcurl does not know its address.
    func reopen(_ tls: WireTLS, for transfer: Transfer) -> Int32 {
        let (engine, route) = (transfer.engine, transfer.options.route)
        guard route.proxy != nil, transfer.failure == nil, !transfer.isCancelled, tls.easy.proveTunnel() else {
            return -1
        }
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
        _ = add(socket, .handshake(tls))
        tls.replaceSocket(by: socket)
        return socket
    }

    /// Ends a handshake, or an unused connection after it.
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
        for group in groups { group.act(ifDueAt: now) }
    }

    /// Fails the transfer of a connection that the watchdog has shut down, because its server kept OpenSSL busy.
    func didCut(_ socket: Int32) {
        let transfer: Transfer?
        switch use(of: socket) {
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
        let pool = unsafe http2.pool(for: transfer.options, now: transfer.engine.now)
        if pool.calm.isOn(at: transfer.engine.executor.engineLoop.systemNow), let end = pool.calm.end {
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            delay(transfer, until: end)
            return true
        }
        switch pool.way(for: transfer, hasIdle: hasIdle(pool.name), now: transfer.engine.now) {
        case .stream(let connection):
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            connection.send(transfer)
            return true
        case .connection where mayAddConnection(to: pool, on: transfer.engine):
            lead(transfer, in: pool)
            return false
        case .connection, .wait:
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            waiting.insert(transfer)
            pool.wait(transfer)
            return true
        case .http1:
            if pool.memory.refusesHTTP2 { transfer.connection.wire.mustSpeakHTTP1 = true }
            return false
        }
    }

    /// Begins to speak HTTP/2 on a connection that was made for a transfer, if that is the protocol. Returns `false` if it is HTTP/1.1.
    func beginSharing(
        _ link: WireLink, to peer: Peer, for transfer: Transfer, interest: SocketInterest
    ) -> Bool {
        let engine = transfer.engine
        let isKnown = transfer.options.version == .http2PriorKnowledge
        guard transfer.options.sharesStreams else { return false }
        let pool = unsafe http2.pool(for: transfer.options, now: engine.now)
        guard isKnown || link.tls?.hasAgreedOnHTTP2 == true else {
            let isDemanded = transfer.options.version == .http2Only
            if transfer.wire.sharing == .leading, !isDemanded || !pool.hasConnections {
                restart(pool.didConnect(transfer, now: engine.now))
                countShared(pool)
            }
            guard isDemanded else { return false }
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
        link.tls?.refuseLateCertificates()
        connection.interest = interest
        promote(connection)
        transfer.connection.wire.isCounted = false
        pool.add(connection, of: transfer)
        connection.send(transfer)
        connection.isReady()
        // The server speaks first. The kernel does not know of bytes that the TLS of a proxy has received.
        if link.tls?.kind == .inLibcurl { connection.receiveSoon() }
        return true
    }

    /// Lets a transfer make a connection. Beside others, that has a limit of time: they may have room soon.
    func lead(_ transfer: Transfer, in pool: HTTP2Pool) {
        pool.begin(transfer)
        countShared(pool)
        guard pool.hasConnections else { return }
        let (engine, restarts) = (transfer.engine, transfer.repetition.restarts)
        let timer = EngineTimer { [weak transfer] in
            guard let transfer, transfer.repetition.restarts == restarts, !transfer.wire.isLookingUp else { return }
            _ = engine.wire.waitInstead(transfer, after: EngineFailure(CURLE_OPERATION_TIMEDOUT, detail: ""))
        }
        engine.executor.engineLoop.set(timer, at: engine.now.advanced(by: HTTP2Pool.patience))
    }

    /// Lets a transfer wait for a stream whose connection beside others has failed. Returns `false` if there are no others, or the transfer
    /// makes no connection.
    func waitInstead(_ transfer: Transfer, after failure: EngineFailure) -> Bool {
        guard transfer.wire.sharing == .leading, transfer.failure == nil, !transfer.isCancelled,
            failure.kind != .connectLimit, let pool = unsafe http2.known(transfer.options.wirePool), pool.hasConnections
        else { return false }
        let engine = transfer.engine
        if transfer.lookup != .none {
            engine.endLookup(transfer, code: CURLcode(rawValue: UInt32(clamping: failure.code)), failure: failure)
        }
        stopConnecting(transfer)
        waiting.insert(transfer)
        pool.wait(transfer, isFirst: true)
        pause(pool, on: engine, for: HTTP2Pool.pause)
        return true
    }

    /// Returns whether the limits of the session leave another connection of a pool. Otherwise none is made for a moment.
    private func mayAddConnection(to pool: HTTP2Pool, on engine: CurlEngine) -> Bool {
        let busy = pool.busyCount
        guard busy > 0 else { return true }
        // The pools of the addresses of one server have one queue.
        let others = unsafe counts.shared(pool.queue) - pool.countedShared
        if engine.mayAddConnection(to: pool.queue, others + busy + 1) { return true }
        pause(pool, on: engine, for: HTTP2Pool.limitPause)
        pool.limitEnd = pool.pauseEnd
        // The transfer that is next may have a stream on a connection without the certificates that it reads.
        pool.serveSoon()
        return false
    }

    /// Tells the number of a pool's connections in use, if it has changed and there are, or were, several.
    private func countShared(_ pool: HTTP2Pool) {
        let change = pool.countShared()
        if change != 0 { unsafe counts.changeShared(pool.queue, by: change) }
    }

    /// Takes a transfer from the connection that it makes beside others.
    private func stopConnecting(_ transfer: Transfer) {
        let start = transfer.wire.start
        prepareToRestart(transfer, needsConnection: false)
        transfer.connection.wire.start = start
    }

    /// Makes no connection beside others for a time.
    private func pause(_ pool: HTTP2Pool, on engine: CurlEngine, for time: Duration) {
        let loop = engine.executor.engineLoop
        let end = loop.systemNow.advanced(by: time)
        pool.pauseEnd = end
        loop.set(EngineTimer { [weak pool] in pool?.serveSoon() }, onSystemAt: end)
    }

    /// Removes a transfer from those that may share connections.
    func stopSharing(_ transfer: Transfer) {
        waiting.remove(transfer)
        guard let pool = unsafe http2.known(transfer.options.wirePool) else { return }
        restart(pool.leave(transfer))
        countShared(pool)
    }

    private func restart(_ transfers: [Transfer]) {
        guard let engine = transfers.first?.engine else { return }
        for transfer in transfers { waiting.remove(transfer) }
        engine.enqueue(transfers)
    }

    /// Returns whether a transfer waits for a stream, and not for the first connection. One that makes a connection beside others does so
    /// too.
    func waitsForStream(_ transfer: Transfer) -> Bool {
        guard transfer.wire.sharing == .waiting || transfer.wire.sharing == .leading else { return false }
        return unsafe http2.known(transfer.options.wirePool)?.hasConnections ?? false
    }

    /// Returns the reason why a transfer is not connected yet; `nil` if it does not wait for others.
    func reasonForWaiting(_ transfer: Transfer) -> String? {
        switch transfer.wire.sharing {
        case .none: nil
        case .leading where !waitsForStream(transfer): nil
        case .delayed: "the server has refused requests"
        case .leading, .waiting: unsafe http2.known(transfer.options.wirePool)?.reasonForWaiting
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
        let timer = EngineTimer {
            // The transfer may have been cancelled.
            guard transfer.wire.sharing == .delayed else { return }
            transfer.connection.wire.sharing = .none
            transfer.engine.wire.waiting.remove(transfer)
            transfer.engine.resume(transfer)
        }
        transfer.engine.executor.engineLoop.set(timer, onSystemAt: instant)
    }

    // MARK: Turns

    /// Sends what the HTTP/2 connections have to send, for all streams together.
    func flushStreams() {
        while unsafe !http2.ready.isEmpty {
            let ready = unsafe http2.ready
            unsafe http2.ready = []
            for connection in ready {
                connection.isReadyListed = false
                serve(connection.pool, on: connection.engine)
                countShared(connection.pool)
                connection.flush()
            }
        }
    }

    /// Lets transfers go on that wait for streams.
    private func serve(_ pool: HTTP2Pool, on engine: CurlEngine) {
        let now = engine.executor.engineLoop.systemNow
        // A server that asks for calm gets nothing for a time.
        if pool.hasWaiting, pool.calm.isOn(at: now), let end = pool.calm.end {
            for transfer in pool.takeAll() { delay(transfer, until: end) }
        }
        while pool.hasWaiting {
            guard let way = pool.wayForNext else { return }
            if case .connection = way, !mayAddConnection(to: pool, on: engine) { return }
            guard let transfer = pool.next() else { return }
            waiting.remove(transfer)
            if pool.hasConnections { transfer.connection.waitEnd = transfer.engine.now }
            switch way {
            case .stream(let connection): connection.send(transfer)
            default:
                lead(transfer, in: pool)
                start(transfer)
            }
        }
        // Connections that are being made are not needed any more.
        while let (transfer, connection) = pool.nextWithoutNeed() {
            stopConnecting(transfer)
            transfer.connection.waitEnd = transfer.engine.now
            connection.send(transfer)
        }
    }
}
