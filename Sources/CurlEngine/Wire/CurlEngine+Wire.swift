import CCurl

/// The transfers that the engine serves without libcurl: HTTP/1.1 over TCP, without a proxy.
extension CurlEngine {
    /// Starts a transfer, on an idle connection or with a new one.
    func startOnWire(_ transfer: Transfer) {
        if transfer.wire.start == 0 { transfer.wire.start = executor.engineLoop.systemNow.nanoseconds }
        if !transfer.wire.needsConnection, let connection = idleConnection(for: transfer) {
            transfer.wire.isReused = true
            if transfer.lookup != .none { lookupDidEnd(transfer, isResolved: false) }
            return send(transfer, on: connection)
        }
        guard transfer.options.mayConnect else {
            return endOnWire(
                transfer,
                EngineFailure(kind: transfer.wire.needsConnection ? .replayRefused : .connectLimit, message: ""))
        }
        guard lookups.admits(transfer, now: executor.engineLoop.systemNow, hasConnection: false) else { return }
        let route = transfer.options.route
        if let literals = route.addresses {
            return connect(transfer, to: literals.compactMap { IPAddress($0) })
        }
        let host = route.target(of: transfer.options.url).host
        if let address = IPAddress(host) { return connect(transfer, to: [address]) }
        guard !host.lowercasedASCII().isLocalName else {
            return connect(transfer, to: [.loopback6, .loopback4])
        }
        if let known = lookups.limit.shared.addresses(of: host, now: executor.engineLoop.systemNow) {
            return connect(transfer, to: known)
        }
        lookUp(host, for: transfer)
    }

    /// Returns an idle connection that a transfer can use. Those that have ended, or on which bytes have arrived, are closed.
    private func idleConnection(for transfer: Transfer) -> WireConnection? {
        guard wire.idleCount > 0 else { return nil }
        let pool = wire.pool(transfer.options.pool)
        while let connection = wire.takeIdle(pool) {
            if mayReuse(connection) { return connection }
            // Not among the idle ones any more.
            connection.transfer = transfer
            wire.close(connection)
            connection.transfer = nil
        }
        return nil
    }

    private func mayReuse(_ connection: WireConnection) -> Bool {
        let now = now
        if let expiry = connection.expiry, now >= expiry { return false }
        if now.nanoseconds(since: connection.lastUse) >= Int64(max(configuration.idleLifetimeSeconds, 1))
            * 1_000_000_000
        {
            return false
        }
        let lifetime = configuration.maximumLifetimeSeconds
        if lifetime > 0, now.nanoseconds(since: connection.made) >= Int64(lifetime) * 1_000_000_000 { return false }
        return ccurl_socket_is_quiet(connection.socket)
    }

    // MARK: Lookups

    private func lookUp(_ host: String, for transfer: Transfer) {
        transfer.wire.isLookingUp = true
        wire.lookingUp.insert(transfer)
        if transfer.lookup == .leading { lookups.isStillLeading(transfer) } else { transfer.reportLookup() }
        BlockingThreadPool.begin { [self] in
            let result = SystemLookup.addresses(of: host)
            submit { [self] in didLookUp(host, result, for: transfer) }
        }
    }

    private func didLookUp(
        _ host: String, _ result: Result<[IPAddress], SystemLookup.Failure>, for transfer: Transfer
    ) {
        // The engine may have ended.
        guard transfer.wire.isLookingUp else { return }
        transfer.wire.isLookingUp = false
        wire.lookingUp.remove(transfer)
        guard case .success(let addresses) = result, !addresses.isEmpty else {
            let failure = EngineFailure(
                kind: .nameResolution, message: "Could not resolve host: \(host)",
                code: Int(CURLE_COULDNT_RESOLVE_HOST.rawValue))
            return endOnWire(transfer, failure)
        }
        lookups.limit.shared.setAddresses(addresses, of: host, now: MonotonicClock.now())
        guard !transfer.isCancelled else {
            if transfer.lookup == .leading { lookupDidEnd(transfer, isResolved: true) }
            return update(transfer)
        }
        connect(transfer, to: addresses)
    }

    // MARK: Connections

    private func connect(_ transfer: Transfer, to addresses: [IPAddress]) {
        if transfer.lookup == .leading { lookupDidEnd(transfer, isResolved: true) }
        transfer.wire.lookedUp = MonotonicClock.now().nanoseconds
        let route = transfer.options.route
        let usable = addresses.filter { address in
            switch route.parts.family {
            case .any: true
            case .ipv4: !address.isIPv6
            case .ipv6: address.isIPv6
            }
        }
        let target = route.target(of: transfer.options.url)
        guard !usable.isEmpty else {
            return endOnWire(
                transfer, EngineFailure(kind: .nameResolution, message: "Could not resolve host: \(target.host)"))
        }
        makeRoomForConnection(for: transfer)
        let race = WireRace(transfer, addresses: usable, port: target.port)
        transfer.wire.race = race
        race.beginNext()
    }

    /// Records that all attempts to make a connection have failed.
    func raceIsLost(_ race: WireRace, _ error: Int32) {
        let transfer = race.transfer
        transfer.wire.race = nil
        guard transfer.failure == nil else { return endOnWire(transfer, nil) }
        let target = transfer.options.route.target(of: transfer.options.url)
        let elapsed = (MonotonicClock.now().nanoseconds - transfer.wire.lookedUp) / 1_000_000
        let reason = EngineFailure.systemText(error)
        endOnWire(
            transfer,
            EngineFailure(
                kind: transfer.wire.needsConnection && !transfer.options.mayBeReplayed ? .replayRefused : .connect,
                message: "Failed to connect to \(target.host) port \(target.port) after \(elapsed) ms: \(reason)",
                code: Int(CURLE_COULDNT_CONNECT.rawValue)))
    }

    /// Starts a transfer again for which there is no file descriptor, once: idle connections are closed for it.
    func lacksDescriptor(_ race: WireRace, _ error: Int32) {
        let transfer = race.transfer
        guard transfer.repetition.descriptor == .ofSystem else {
            transfer.failure = EngineFailure(kind: .connect, message: "").withoutSocket(error)
            return
        }
        race.end(in: wire)
        transfer.wire.race = nil
        transfer.wire.start = 0
        if hasIdleConnection {
            transfer.repetition.descriptor = .ofIdleConnection
            if !wire.closeOldestIdle() { closeIdleConnections(to: nil) }
            resume(transfer)
        } else {
            transfer.repetition.descriptor = .ofOtherEngine
            startWithDescriptorOfOthers(transfer)
        }
    }

    /// Sends the request of a transfer on the connection that was made for it.
    func raceIsWon(_ race: WireRace, _ socket: Int32, _ peer: Peer) {
        let transfer = race.transfer
        transfer.wire.race = nil
        transfer.wire.connected = MonotonicClock.now().nanoseconds
        let connection = WireConnection(
            socket: socket, generation: wire.generation(of: socket), pool: wire.pool(transfer.options.pool),
            peer: peer, port: ccurl_socket_port(socket), made: now,
            observation: configuration.connectionObserver?.begin(transfer.options.url.text))
        wire.promote(connection)
        // The socket is watched for writing, as an attempt.
        connection.interest = .write
        transfer.connection.hasBeenMade = true
        send(transfer, on: connection)
    }

    // MARK: Ends

    /// Ends a transfer, whose connection is kept for others or closed.
    func endOnWire(
        _ transfer: Transfer, _ failure: EngineFailure?, trailers: WireFields = WireFields(), keeps: Bool = false
    ) {
        lastUse = now
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        var cause = transfer.failure ?? failure
        if cause == nil, !transfer.isHeldUp { cause = transfer.finishDecoding() }
        if transfer.lookup != .none {
            endLookup(
                transfer, code: cause?.kind == .nameResolution ? CURLE_COULDNT_RESOLVE_HOST : CURLE_OK, failure: cause)
        }
        var report = transfer.measurements
        let isKept = leaveWire(transfer, keeps: keeps)
        if transfer.reports.sending != .none { report.isConnectionKept = isKept }
        if case .stream = transfer.options.body { transfer.upload.discard() }
        if lookups.hasWaiting, let multi { endWaitForLookup(multi, after: transfer) }
        guard !transfer.isCancelled else { return }
        let end = TransferEnd(failure: cause, trailers: trailers, report: report)
        if cause == nil, transfer.isHeldUp {
            transfer.receiving.heldEnd = end
        } else {
            self.report(end, of: transfer)
        }
    }

    /// Takes a transfer from its connection, or from its way to one. Returns whether the connection was kept.
    private func leaveWire(_ transfer: Transfer, keeps: Bool) -> Bool? {
        transfer.wire.race?.end(in: wire)
        transfer.wire.race = nil
        guard let connection = transfer.wire.connection else { return nil }
        transfer.wire.connection = nil
        guard keeps, !connection.isRetired else {
            wire.close(connection)
            connection.transfer = nil
            return false
        }
        watch(connection, for: .read)
        connection.transfer = nil
        connection.held = nil
        connection.lastUse = lastUse
        connection.expiry = unsafe connection.decoder.keepAliveTimeout.map { Self.expiry(of: $0, from: lastUse) }
        wire.addIdle(connection)
        return true
    }

    /// Returns the instant from which the server may close an idle connection that it keeps for some seconds. The time on the way is taken
    /// off.
    private static func expiry(of seconds: Int, from now: EngineInstant) -> EngineInstant {
        let margin = Duration.milliseconds(seconds > 1 ? 1000 : 500)
        return now.advanced(by: .seconds(max(seconds, 0)) - margin)
    }

    /// Starts a transfer again, with a new connection, because an idle one was dead.
    func restartOnWire(_ transfer: Transfer) {
        if transfer.reports.sending == .checked { transfer.reports.sending = .none }
        _ = leaveWire(transfer, keeps: false)
        transfer.prepareToStartAgain()
        transfer.wire = WireProgress()
        transfer.wire.needsConnection = true
        enqueue([transfer])
    }

    /// Applies the changes of a transfer.
    func applyOnWire(_ transfer: Transfer) {
        guard transfer.wire.isUnderWay else {
            if transfer.isCancelled { leaveGates(transfer) }
            if transfer.receiving.heldEnd != nil {
                finishHeld(transfer)
            } else if transfer.failure != nil, !transfer.isCancelled {
                endOnWire(transfer, nil)
            }
            return
        }
        if transfer.isCancelled {
            // The system cannot end a lookup, and others may wait for its result.
            guard !transfer.wire.isLookingUp else { return }
            leaveGates(transfer)
            lastUse = now
            _ = leaveWire(transfer, keeps: false)
        } else if !transfer.decodeFurther() || transfer.failure != nil {
            endOnWire(transfer, nil)
        } else if let connection = transfer.wire.connection {
            goOn(connection, transfer)
        }
    }
}

extension TransferOptions {
    /// Whether the engine serves the transfer without libcurl, if its configuration allows that.
    var isForWire: Bool {
        guard !url.isSecure, !switchesProtocols, route.isPlain, !url.hasZone else { return false }
        return version == .http1 || version == .http2OverTLS
    }
}

extension WireURL {
    /// Whether the host is an IPv6 address of one link (RFC 4007, section 6).
    fileprivate var hasZone: Bool { host.utf8.first == UInt8(ascii: "[") && host.containsBytes("%") }
}

extension TransferRoute {
    /// Returns the host and the port to which connections are made for a URL.
    func target(of url: WireURL) -> (host: String, port: UInt16) {
        guard let target = parts.connectTo else { return (url.host, url.port) }
        let host = target.prefix(beforeLast: ":")
        return (String(host), UInt16(target[host.endIndex...].dropFirst()) ?? url.port)
    }

    /// The address of this machine from which connections are made, if any.
    var source: IPAddress? { parts.interface.flatMap { IPAddress($0) } }

    /// Whether connections need nothing but TCP.
    static func isPlain(_ parts: Parts) -> Bool {
        guard parts.proxy == nil, parts.socket == nil, parts.connectTo?.containsBytes("%") != true else { return false }
        return parts.interface.map { IPAddress($0) != nil } ?? true
    }
}

extension IPAddress {
    fileprivate static let loopback4 = IPAddress(known: [127, 0, 0, 1])
    fileprivate static let loopback6 = IPAddress(known: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
}
