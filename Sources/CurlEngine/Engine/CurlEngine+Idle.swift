import CCurl

/// The idle connections of an engine, which are closed for the limits of the session, and for want of file descriptors.
extension CurlEngine {
    /// The number of open sockets.
    package var openSocketCount: Int { unsafe wire.openCount + (multi?.sockets.openCount ?? 0) }

    /// Closes one idle connection of a queue (``TransferOptions/queue``), or all idle connections if `queue` is `nil`.
    package func closeIdleConnections(to queue: String?) {
        if let queue {
            if wire.closeIdle(to: queue) { return }
        } else {
            wire.closeAllIdle()
        }
        guard let multi else { return }
        multi.makeRoomForClosedConnections()
        // Without shared connections, the table of sockets itself knows the unused ones.
        unsafe multi.sockets.closeIdle(to: queue.map(TransferOptions.Version.limitName(ofQueue:))) {
            streams.isUsed(port: $1) ?? false
        }
        noteClosedConnections(multi)
    }

    /// Notifies the gate for streams of the idle connections that were closed.
    func noteClosedConnections(_ multi: MultiHandle) {
        for (origin, port) in unsafe multi.sockets.takeClosed() { streams.didClose(origin, port: port) }
    }

    // MARK: Use

    /// Returns whether other streams use the connection of a transfer; `nil` if the connection carries one request at a time.
    private func hasOtherStreams(_ transfer: Transfer) -> Bool? {
        transfer.connection.hadStreams ? streams.isUsed(port: transfer.connection.localPort) : nil
    }

    /// Finds the socket of a transfer that is about to leave its connection, if that becomes idle and libcurl has not named its socket.
    ///
    /// A response may be there in the call of libcurl in which the request is sent. libcurl then has no interest in the socket, and names
    /// none, or only an earlier attempt's.
    func willLeave(_ transfer: Transfer) {
        guard let multi, let easy = transfer.easy, !isNamed(easy, multi), transfer.attempts > 0 else { return }
        let hasOthers = hasOtherStreams(transfer)
        // The lists of transfers with streams go by the socket that libcurl has named.
        guard hasOthers == nil || hasOthers == false && easy.socket < 0 else { return }
        let named = easy.socket
        easy.socket = -1
        let found = easy.findSocket()
        // libcurl may find the connection of the handle's last transfer.
        guard found >= 0,
            transfer.connection.localPort <= 0 || ccurl_socket_port(found) == transfer.connection.localPort
        else {
            easy.socket = named
            return
        }
        easy.socket = found
        easy.socketGeneration = unsafe multi.sockets.generation(of: found)
        if hasOthers == nil { unsafe multi.sockets.didUse(found, by: ObjectIdentifier(easy)) }
    }

    /// Returns whether libcurl has named the socket of a handle, and has not closed that socket since.
    private func isNamed(_ easy: EasyHandle, _ multi: MultiHandle) -> Bool {
        unsafe easy.socket >= 0 && multi.sockets.generation(of: easy.socket) == easy.socketGeneration
    }

    /// Records that a transfer has left its connection, which may be open.
    func didUse(_ easy: EasyHandle, for transfer: Transfer) {
        let hasOthers = hasOtherStreams(transfer)
        guard let multi, hasOthers != true else { return }
        let isOpen = unsafe multi.sockets.didEndTransfer(
            on: easy.socket, generation: easy.socketGeneration, after: ObjectIdentifier(easy),
            to: transfer.options.pool, isHTTP1: transfer.isHTTP1 && !transfer.connection.hadStreams,
            isExclusive: hasOthers == nil,
            streamPort: hasOthers == nil ? 0 : transfer.connection.localPort, now: lastUse)
        if isOpen, hasOthers != nil {
            streams.didBecomeIdle(transfer.options.pool, port: transfer.connection.localPort)
        }
        if unsafe multi.sockets.hasRetired { endRetired(multi, on: easy.socket) }
    }

    /// The socket of a connection, with its generation.
    typealias ObservedSocket = (descriptor: Int32, generation: UInt32)

    /// Returns the socket of a transfer that is about to leave its connection; `nil` if the connection is not observed.
    func observedSocket(of transfer: Transfer) -> ObservedSocket? {
        guard transfer.reports.sending != .none else { return nil }
        return transfer.easy.map(socket)
    }

    /// Returns the socket of an easy handle, as libcurl last named it. libcurl may have closed the socket since, and then its generation
    /// is an earlier one.
    func socket(of easy: EasyHandle) -> ObservedSocket {
        if easy.socket >= 0 { return (easy.socket, easy.socketGeneration) }
        let descriptor = easy.findSocket()
        return (descriptor, unsafe multi?.sockets.generation(of: descriptor) ?? 0)
    }

    /// Returns whether the connection that a transfer has left is kept; `nil` if that is not known.
    func isKept(_ socket: ObservedSocket, after transfer: Transfer) -> Bool? {
        if hasOtherStreams(transfer) == true { return true }
        guard transfer.options.version != .http2PriorKnowledge || LibcurlFeatures.current.canReusePriorKnowledge else {
            return false
        }
        return multi.flatMap { unsafe $0.sockets.isKept(socket.descriptor, generation: socket.generation) }
    }

    /// Closes the idle connection that was used least recently if there would be more connections than the limit allows, and one to another
    /// address of the same server, because it counts towards the limit of the origin. Called when libcurl is about to make one.
    func makeRoomForConnection(for transfer: Transfer) {
        guard let multi else { return }
        if transfer.options.route.hasOneOfSeveralAddresses {
            let (origin, pool) = (transfer.options.limitName, transfer.options.pool)
            if !wire.closeIdle(to: transfer.options.queue, except: transfer.options.wirePool) {
                unsafe multi.sockets.closeIdle(to: origin, except: pool) { streams.isUsed(port: $1) ?? false }
            }
        }
        guard unsafe wire.openCount + multi.sockets.connectionCount >= configuration.maximumConnections else { return }
        if wire.closeOldestIdle() { return }
        unsafe multi.sockets.closeOldestIdle { streams.isUsed(port: $1) ?? false }
    }

    // MARK: The lifetime

    var idleLifetime: Duration { .seconds(max(configuration.idleLifetimeSeconds, 1)) }

    /// Whether transfers are in libcurl, or on the engine's own connections.
    var hasTransfers: Bool { (multi?.runningCount ?? 0) > 0 || wire.hasTransfers }

    /// Sets the timer for the idle connections, which is not set yet.
    func setIdleTimer() {
        guard idleTimer == nil, multi != nil else { return }
        let timer = EngineTimer(self)
        idleTimer = timer
        executor.engineLoop.set(timer, at: now.advanced(by: idleLifetime))
    }

    /// Closes the connections that were not used for the idle lifetime. If no transfer runs, and all connections are closed, the engine
    /// holds nothing of libcurl any more.
    package func timerIsDue() {
        guard let timer = idleTimer else { return }
        // The timer is not moved at every use: the deadline follows from the last use.
        let now = now
        let last = isBusy ? now : lastUse
        guard last.advanced(by: idleLifetime) > now else {
            idleTimer = nil
            closeConnections()
            return ccurl_memory_drain()
        }
        // The handles at the bottom of the pool may not be used for days, and header lines may have credentials.
        for easy in multi?.unusedHandles ?? [] { easy.forgetHeaders() }
        wire.forgetFields()
        let oldest = closeIdleConnections(notUsedFor: idleLifetime, now)
        // Without an idle connection there is nothing to do before the end of a transfer, which sets the timer.
        if oldest == nil, hasTransfers { return idleTimer = nil }
        executor.engineLoop.set(timer, at: min(oldest ?? last, last).advanced(by: idleLifetime))
    }

    /// Closes the connections that were not used for a time. Returns the instant of the last use of the next idle one; `nil` if there is
    /// none.
    private func closeIdleConnections(notUsedFor lifetime: Duration, _ now: EngineInstant) -> EngineInstant? {
        let limit = now.nanoseconds.subtractingReportingOverflow(lifetime.clampedNanoseconds)
        guard let multi, !limit.overflow else { return nil }
        let instant = EngineInstant(nanoseconds: limit.partialValue)
        let nextOnWire = wire.closeIdle(usedUntil: instant)
        let next = unsafe multi.sockets.closeIdle(usedUntil: instant) { streams.isUsed(port: $1) ?? false }
        // libcurl does not reuse connections of this age, and closes them with the next transfer.
        noteClosedConnections(multi)
        return next.map { min($0, nextOnWire ?? $0) } ?? nextOnWire
    }

    // MARK: File descriptors

    /// Whether a connection is idle.
    var hasIdleConnection: Bool {
        if wire.idleCount > 0 { return true }
        guard let multi else { return false }
        return unsafe multi.sockets.hasIdle { streams.isUsed(port: $1) ?? false }
    }

    /// Closes idle connections at once, because another engine has no file descriptor: all of them, if no request runs or libcurl supports
    /// that (8.16), and otherwise none. Their number is not known beforehand: libcurl alone can close them.
    func giveUpIdleConnections() {
        guard let multi else { return }
        if !isBusy { return closeConnections() }
        wire.closeAllIdle()
        guard LibcurlFeatures.current.canLeaveConnections, hasIdleConnection else { return }
        multi.leaveConnections()
        streams.leaveConnections()
    }

    /// Starts a transfer again as soon as the other engines of the process have closed idle connections.
    func startWithDescriptorOfOthers(_ transfer: Transfer) {
        EnginePeer.giveUpIdleConnections(for: executor) { [self] in submit { self.resume(transfer) } }
    }
}
