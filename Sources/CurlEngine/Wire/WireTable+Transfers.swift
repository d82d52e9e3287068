import CCurl

/// The transfers on their way to a connection, and from it.
extension WireTable {
    /// Starts a transfer, on an idle connection or with a new one.
    func start(_ transfer: Transfer) {
        // One that was queued to start again may have got a stream meanwhile, or wait for one.
        guard !transfer.wire.hasBegun, transfer.lookup != .waiting, transfer.receiving.heldEnd == nil else { return }
        let engine = transfer.engine
        if transfer.wire.start == 0 {
            transfer.connection.wire.start = engine.executor.engineLoop.systemNow.nanoseconds
        }
        if let count = transfer.options.connectionCount, unsafe counts[transfer.options.queue] >= count {
            return end(transfer, nil)
        }
        if transfer.options.demandsHTTP2, let failure = engine.configuration.refusal(of: transfer.options) {
            return end(transfer, failure)
        }
        if transfer.isOnWire, share(transfer) { return }
        let mayReuse =
            transfer.isOnWire && !transfer.options.switchesProtocols && transfer.options.connectionCount == nil
        if !transfer.wire.needsConnection, mayReuse, transfer.wire.sharing != .leading,
            let connection = idleConnection(for: transfer)
        {
            transfer.connection.wire.isReused = true
            // The connections to a proxy serve all origins.
            if transfer.options.route !== TransferRoute.direct { count(connection, for: transfer.options.queue) }
            if transfer.lookup != .none { transfer.engine.lookupDidEnd(transfer, isResolved: false) }
            return connection.send(transfer)
        }
        // Over HTTP/3, libcurl may have a connection.
        guard transfer.options.mayConnect || !transfer.isOnWire else {
            return end(transfer, EngineFailure(kind: .connectLimit, message: ""))
        }
        if let failure = engine.configuration.refusal(of: transfer.options) { return end(transfer, failure) }
        let route = transfer.options.route
        guard route.unixSocket == nil else { return connect(transfer, at: []) }
        let host = route.target(of: transfer.options.url).host
        let address = IPAddress(zoned: host)
        // The literals have no zones.
        if let literals = route.targetAddresses, address?.scope ?? 0 == 0 {
            return connect(transfer, to: literals.compactMap { IPAddress($0) })
        }
        if let address { return connect(transfer, to: [address]) }
        guard !host.lowercasedASCII().isLocalName else {
            return connect(transfer, to: [.loopback6, .loopback4])
        }
        let now = engine.executor.engineLoop.systemNow
        if !transfer.isOnWire, let kept = engine.http3?.addresses(of: transfer.options.pool) {
            if transfer.lookup == .leading { engine.lookupDidEnd(transfer, isResolved: false) }
            return connect(transfer, to: kept)
        }
        if let known = engine.lookups.addresses(of: host, route.parts.family, now: now) {
            // Another transfer has looked them up in the meantime.
            if transfer.lookup == .leading { engine.lookupDidEnd(transfer, isResolved: false) }
            return connect(transfer, to: known)
        }
        guard engine.lookups.admits(transfer, now: now) else { return }
        lookUp(host, for: transfer)
    }

    /// Returns an idle connection that a transfer can use. Those that have ended, or on which bytes have arrived, are closed.
    private func idleConnection(for transfer: Transfer) -> WireConnection? {
        guard idleCount > 0, let pool = knownPool(transfer.options.wirePool) else { return nil }
        while let connection = takeIdle(pool) {
            let lacksChain = transfer.options.readsCertificates && connection.link.tls?.isResumed == true
            if !lacksChain, mayReuse(connection, in: transfer.engine) { return connection }
            // Not among the idle ones any more.
            connection.transfer = transfer
            close(connection)
            connection.transfer = nil
        }
        return nil
    }

    /// Counts a connection for a queue instead of its last one.
    private func count(_ connection: WireConnection, for queue: String) {
        guard connection.queue != queue else { return }
        unsafe counts.change(connection.queue, by: -1)
        connection.queue = queue
        unsafe counts.change(queue, by: 1)
    }

    /// Counts a connection that is being made for a transfer, or no longer counts it.
    private func setCounted(_ transfer: Transfer, _ isCounted: Bool) {
        guard transfer.wire.isCounted != isCounted else { return }
        transfer.connection.wire.isCounted = isCounted
        unsafe counts.change(transfer.options.queue, by: isCounted ? 1 : -1)
    }

    private func mayReuse(_ connection: WireConnection, in engine: CurlEngine) -> Bool {
        let now = engine.now
        if let expiry = connection.expiry, now >= expiry { return false }
        if connection.lastUse.advanced(by: engine.idleLifetime) <= now { return false }
        let lifetime = engine.configuration.maximumLifetimeSeconds
        if lifetime > 0, connection.made.advanced(by: .seconds(lifetime)) <= now { return false }
        return connection.link.isQuiet()
    }

    // MARK: Lookups

    /// Looks up a host.
    ///
    /// - Parameter near: The addresses of the SOCKS proxy that wants an address of the host; `nil` if connections are made to the host.
    private func lookUp(_ host: String, for transfer: Transfer, behind near: [IPAddress]? = nil) {
        let engine = transfer.engine
        transfer.connection.wire.isLookingUp = true
        waiting.insert(transfer)
        if transfer.lookup == .leading { engine.lookups.isStillLeading(transfer) } else { transfer.reportLookup() }
        SystemLookup.threads.add {
            let result = SystemLookup.addresses(
                of: host, family: transfer.options.route.parts.family, keepsScopes: true)
            engine.submit { engine.wire.didLookUp(host, result, for: transfer, behind: near) }
        }
    }

    private func didLookUp(
        _ host: String, _ result: Result<[IPAddress], SystemLookup.Failure>, for transfer: Transfer,
        behind near: [IPAddress]?
    ) {
        // The engine may have ended.
        guard transfer.wire.isLookingUp else { return }
        transfer.connection.wire.isLookingUp = false
        waiting.remove(transfer)
        guard case .success(let addresses) = result, !addresses.isEmpty else {
            return end(transfer, .unresolved(host, transfer))
        }
        transfer.engine.lookups.limit.shared.setAddresses(
            addresses, of: host, transfer.options.route.parts.family, now: MonotonicClock.now())
        guard !transfer.isCancelled else {
            if transfer.lookup == .leading { transfer.engine.lookupDidEnd(transfer, isResolved: true) }
            return transfer.engine.update(transfer)
        }
        guard let near else { return connect(transfer, to: addresses) }
        send(addresses, of: host, for: transfer, at: near)
    }

    // MARK: Connections

    private func connect(_ transfer: Transfer, to addresses: [IPAddress]) {
        if transfer.lookup == .leading { transfer.engine.lookupDidEnd(transfer, isResolved: true) }
        let route = transfer.options.route
        let (host, _) = route.target(of: transfer.options.url)
        let usable = addresses.filter(route.parts.family.allows)
        guard !usable.isEmpty else { return end(transfer, .unresolved(host, transfer)) }
        connect(transfer, at: usable)
    }

    /// Makes a connection to one of some addresses, or to a Unix domain socket. First the address is found that a SOCKS proxy wants.
    private func connect(_ transfer: Transfer, at addresses: [IPAddress]) {
        guard let addresses = permitted(addresses, for: transfer) else { return }
        let route = transfer.options.route
        guard transfer.isOnWire else {
            if let failure = transfer.engine.beginHTTP3(transfer, at: addresses) { end(transfer, failure) }
            return
        }
        guard route.sendsAddress else { return race(transfer, to: addresses) }
        let (host, literals) = route.farTarget(of: transfer.options.url)
        let engine = transfer.engine, now = engine.executor.engineLoop.systemNow
        func goOn(_ found: [IPAddress]) { send(found, of: host, for: transfer, at: addresses) }
        if let literals { return goOn(literals.compactMap { IPAddress($0) }) }
        if let address = IPAddress(zoned: host) { return goOn([address]) }
        if host.lowercasedASCII().isLocalName { return goOn([.loopback4, .loopback6]) }
        if let known = engine.lookups.addresses(of: host, route.parts.family, now: now) { return goOn(known) }
        // A proxy with a name has passed the gate already.
        if route.firstProxy?.isAddress == true {
            guard engine.lookups.admits(transfer, now: now) else { return }
        }
        lookUp(host, for: transfer, behind: addresses)
    }

    /// Makes a connection to a SOCKS proxy, which gets the first address of a host that suits.
    private func send(_ found: [IPAddress], of host: String, for transfer: Transfer, at addresses: [IPAddress]) {
        if transfer.lookup == .leading { transfer.engine.lookupDidEnd(transfer, isResolved: true) }
        let route = transfer.options.route
        let family = route.firstProxy?.scheme == .socks4 ? .ipv4 : route.parts.family
        let usable = found.filter(family.allows)
        guard !usable.isEmpty else { return end(transfer, .unresolved(host, transfer)) }
        guard let address = permitted(usable, for: transfer)?.first else { return }
        race(transfer, to: addresses, asking: address)
    }

    /// Returns the addresses to which connections may be made. Ends the transfer and returns `nil` if there were addresses, and all of them
    /// are denied.
    private func permitted(_ addresses: [IPAddress], for transfer: Transfer) -> [IPAddress]? {
        guard let egress = transfer.engine.configuration.egress, !addresses.isEmpty else { return addresses }
        var refusal: EngineFailure?
        let permitted = addresses.filter { address in
            guard let network = egress.denial(of: address) else { return true }
            transfer.reportRefusal(of: address, by: network)
            refusal = refusal ?? EngineFailure(kind: .egressRefused(address, network), message: "")
            return false
        }
        if permitted.isEmpty {
            end(transfer, refusal)
            return nil
        }
        return permitted
    }

    private func race(_ transfer: Transfer, to addresses: [IPAddress], asking far: IPAddress? = nil) {
        transfer.engine.makeRoomForConnection(for: transfer)
        setCounted(transfer, true)
        let port = transfer.options.route.target(of: transfer.options.url).port
        let race = WireRace(transfer, addresses: addresses, port: port, far: far)
        transfer.connection.wire.lookedUp = MonotonicClock.now().nanoseconds
        transfer.connection.wire.race = race
        race.beginNext()
    }

    /// Records that all attempts to make a connection have failed.
    func isLost(_ race: WireRace, error: Int32) {
        let transfer = race.transfer
        transfer.connection.wire.race = nil
        if let failure = race.failure { return end(transfer, failure) }
        let route = transfer.options.route
        let target = route.target(of: transfer.options.url)
        let elapsed = (MonotonicClock.now().nanoseconds - transfer.wire.lookedUp) / 1_000_000
        let reason = EngineFailure.systemText(error)
        let failure = EngineFailure(
            kind: .connect,
            message: "Failed to connect to \(target.host) port \(target.port) after \(elapsed) ms: \(reason)",
            code: Int(CURLE_COULDNT_CONNECT.rawValue))
        end(transfer, (route.unixSocket.map { failure.to($0, error) } ?? failure).ofProxy(transfer))
    }

    /// Starts a transfer again for which there is no file descriptor, once: idle connections are closed for it.
    func lacksDescriptor(_ race: WireRace, error: Int32) {
        let transfer = race.transfer
        guard transfer.repetition.descriptor == .ofSystem else {
            race.failure = EngineFailure(kind: .connect, message: "").withoutSocket(error).ofProxy(transfer)
            return
        }
        race.end()
        setCounted(transfer, false)
        let previous = transfer.wire
        transfer.wire = WireProgress()
        transfer.connection.wire.needsConnection = previous.needsConnection
        transfer.connection.wire.mustSpeakHTTP1 = previous.mustSpeakHTTP1
        transfer.connection.wire.sharing = previous.sharing
        startWithDescriptor(transfer)
    }

    /// Starts a transfer again as soon as an idle connection has been closed for it.
    func startWithDescriptor(_ transfer: Transfer) {
        let engine = transfer.engine
        if engine.hasIdleConnection {
            transfer.repetition.descriptor = .ofIdleConnection
            if !closeOldestIdle() { engine.closeIdleConnections(to: nil) }
            engine.resume(transfer)
        } else {
            transfer.repetition.descriptor = .ofOtherEngine
            engine.startWithDescriptorOfOthers(transfer)
        }
    }

    /// Sends the request of a transfer on the connection that was made for it.
    func isWon(_ race: WireRace, by socket: Int32, to peer: Peer) {
        let transfer = race.transfer
        transfer.connection.wire.race = nil
        transfer.connection.wire.connected = MonotonicClock.now().nanoseconds
        guard transfer.options.needsHandshake else {
            // The socket is watched for writing, as an attempt.
            return begin(WireLink(socket: socket, tls: nil), to: peer, for: transfer, interest: .write)
        }
        secure(transfer, on: socket, to: peer, asking: race.far)
    }

    /// Sends the request of a transfer on a connection, with its TLS, that was made for it.
    func begin(_ link: WireLink, to peer: Peer, for transfer: Transfer, interest: SocketInterest = []) {
        let socket = link.socket
        if beginSharing(link, to: peer, for: transfer, interest: interest) { return }
        let connection = WireConnection(
            link, generation: generation(of: socket), peer: peer, in: pool(transfer.options.wirePool), for: transfer)
        connection.interest = interest
        promote(connection)
        transfer.connection.wire.isCounted = false
        connection.send(transfer)
    }

    /// Ends a transfer that sends nothing. Its connection becomes idle, or serves streams.
    func keep(_ connection: EngineConnection, madeInAdvanceBy transfer: Transfer) {
        transfer.delegate?.transferIsConnected()
        // The transfer is ended with the changes.
        guard !transfer.isCancelled, transfer.failure == nil else { return transfer.engine.update(transfer) }
        // Over HTTP/2, the server speaks at once.
        end(transfer, nil, keeps: transfer.wire.http2 != nil || connection.link.isQuiet())
    }

    // MARK: Ends

    /// Ends a transfer, whose connection is kept for others or closed.
    func end(
        _ transfer: Transfer, _ failure: EngineFailure?, trailers: WireFields = WireFields(), keeps: Bool = false
    ) {
        if let failure, waitInstead(transfer, after: failure) { return }
        let engine = transfer.engine
        engine.lastUse = engine.now
        if transfer.connection.http3.race != nil, waitsForHTTP3(transfer, after: failure) { return }
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        var cause = transfer.failure ?? failure
        if cause == nil, !transfer.isHeldUp { cause = transfer.finishDecoding() }
        if transfer.lookup != .none {
            engine.endLookup(transfer, code: CURLcode(rawValue: UInt32(clamping: cause?.code ?? 0)), failure: cause)
        }
        var report = transfer.measurements
        let isKept = leave(transfer, keeps: keeps)
        if transfer.reports.sending != .none { report.isConnectionKept = isKept }
        if case .stream = transfer.options.body { transfer.upload.discard() }
        if engine.lookups.hasWaiting { engine.endWaitForLookup(after: transfer) }
        guard !transfer.isCancelled else { return }
        let end = TransferEnd(failure: cause, trailers: trailers, report: report)
        if cause == nil, transfer.isHeldUp {
            transfer.receiving.heldEnd = Boxed(end)
        } else {
            engine.report(end, of: transfer)
        }
    }

    /// Takes a transfer from its connection, or from its way to one. Returns whether the connection was kept.
    private func leave(_ transfer: Transfer, keeps: Bool) -> Bool? {
        transfer.wire.race?.end()
        transfer.connection.wire.race = nil
        if let tls = transfer.wire.tls { end(tls, of: transfer) }
        if let exchange = transfer.connection.http3.exchange {
            exchange.group.remove(exchange)
            return keeps
        }
        setCounted(transfer, false)
        if transfer.wire.sharing != .none { stopSharing(transfer) }
        if let connection = transfer.wire.http2 { return connection.leave(transfer) }
        guard let connection = transfer.wire.connection else { return nil }
        transfer.connection.wire.connection = nil
        guard keeps, !connection.isRetired else {
            close(connection)
            connection.transfer = nil
            transfer.leaveSwitched()
            return false
        }
        connection.watch(for: .read, on: transfer.engine)
        connection.transfer = nil
        connection.held = nil
        connection.lastUse = transfer.engine.lastUse
        connection.expiry = unsafe connection.decoder.keepAliveTimeout.map {
            Self.expiry(of: $0, from: connection.lastUse)
        }
        addIdle(connection)
        return true
    }

    /// Returns the instant from which the server may close an idle connection that it keeps for some seconds. The time on the way is taken
    /// off.
    private static func expiry(of seconds: Int, from now: EngineInstant) -> EngineInstant {
        let margin = Duration.milliseconds(seconds > 1 ? 1000 : 500)
        return now.advanced(by: .seconds(max(seconds, 0)) - margin)
    }

    /// Starts a transfer again, with a new connection if an idle one was dead.
    func restart(_ transfer: Transfer, needsConnection: Bool) {
        prepareToRestart(transfer, needsConnection: needsConnection)
        transfer.engine.enqueue([transfer])
    }

    /// Starts a transfer again over HTTP/1.1, because the server has refused HTTP/2 for it.
    func restartOverHTTP1(_ transfer: Transfer) {
        transfer.connection.wire.mustSpeakHTTP1 = true
        restart(transfer, needsConnection: false)
    }

    /// Takes a transfer to its beginning, before it starts again.
    func prepareToRestart(_ transfer: Transfer, needsConnection: Bool) {
        if transfer.reports.sending == .checked { transfer.reports.sending = .none }
        _ = leave(transfer, keeps: false)
        transfer.prepareToStartAgain()
        var wire = WireProgress()
        (wire.needsConnection, wire.mustSpeakHTTP1) = (needsConnection, transfer.wire.mustSpeakHTTP1)
        transfer.wire = wire
        transfer.connection.hadStreams = false
    }

    /// Takes a transfer from its way to a connection. Returns `false` if it cannot leave now.
    func withdraw(_ transfer: Transfer) -> Bool {
        let wire = transfer.wire
        guard transfer.lookup == .none, !wire.isLookingUp,
            wire.race != nil || wire.tls != nil || wire.sharing == .waiting
        else { return false }
        prepareToRestart(transfer, needsConnection: false)
        return true
    }

    /// Returns whether a transfer, for which no connection could be made, waits for one over HTTP/3.
    private func waitsForHTTP3(_ transfer: Transfer, after failure: EngineFailure?) -> Bool {
        let engine = transfer.engine
        guard let failure, transfer.failure == nil, !transfer.isCancelled else {
            engine.http3Races.leave(transfer)
            return false
        }
        if transfer.lookup != .none {
            engine.endLookup(transfer, code: CURLcode(rawValue: UInt32(clamping: failure.code)), failure: failure)
        }
        prepareToRestart(transfer, needsConnection: false)
        engine.http3Races.wait(transfer, after: failure)
        return true
    }

    /// Applies the changes of a transfer.
    func apply(_ transfer: Transfer) {
        let engine = transfer.engine
        if transfer.isCancelled { engine.http3Races.leave(transfer) }
        guard transfer.isUnderWay else {
            if transfer.isCancelled { engine.leaveGates(transfer) }
            if transfer.receiving.heldEnd != nil {
                engine.finishHeld(transfer)
            } else if transfer.failure != nil, !transfer.isCancelled {
                end(transfer, nil)
            }
            return
        }
        if transfer.isCancelled {
            // The system cannot end a lookup, and others may wait for its result.
            guard !transfer.wire.isLookingUp else { return engine.lookups.abandon(transfer) }
            engine.leaveGates(transfer)
            engine.lastUse = engine.now
            _ = leave(transfer, keeps: transfer.wire.connection?.finishUnread(transfer) ?? false)
        } else if transfer.connection.switched != nil {
            engine.advanceSwitched(transfer)
        } else if !transfer.decodeFurther() || transfer.failure != nil {
            end(transfer, nil)
        } else if let exchange = transfer.connection.http3.exchange {
            exchange.goOn()
        } else if let connection = transfer.wire.connection {
            connection.goOn(transfer)
        } else if let connection = transfer.wire.http2 {
            connection.goOn(transfer)
        }
    }
}

extension TransferRoute.Family {
    /// Returns whether an address is of the family.
    fileprivate func allows(_ address: IPAddress) -> Bool {
        switch self {
        case .any: true
        case .ipv4: !address.isIPv6
        case .ipv6: address.isIPv6
        }
    }
}

extension EngineFailure {
    /// Returns the failure of a transfer for whose connection there is no address of a host: the server, or a proxy.
    fileprivate static func unresolved(_ host: String, _ transfer: Transfer) -> EngineFailure {
        let isProxy = transfer.options.route.firstProxy?.host == host
        let code = isProxy ? CURLE_COULDNT_RESOLVE_PROXY : CURLE_COULDNT_RESOLVE_HOST
        let failure = EngineFailure(code, detail: "Could not resolve \(isProxy ? "proxy" : "host"): \(host)")
        return isProxy ? failure.ofProxy(transfer) : failure
    }

    /// Returns the same failure of a connection as the proxy's, if the transfer has one.
    fileprivate func ofProxy(_ transfer: Transfer) -> EngineFailure {
        guard let proxy = transfer.options.route.proxy else { return self }
        let outcome = ProxyOutcome(connectStatus: 0, isConnected: false)
        return outcome.failure(self, isSent: false, proxy: proxy) ?? self
    }
}
