import CCurl

/// The idle connections of an engine, which are closed for the limits of the session, and for want of file descriptors.
extension CurlEngine {
    /// The number of open sockets.
    package var openSocketCount: Int { wire.openCount + (http3?.socketCount ?? 0) }

    /// Closes one idle connection of a queue (``TransferOptions/queue``), or all idle connections if `queue` is `nil`.
    package func closeIdleConnections(to queue: String?) {
        if let queue {
            if wire.closeIdle(to: queue) { return }
        } else {
            wire.closeAllIdle()
        }
        // libcurl can only close all of its connections.
        if queue.map({ $0.hasByteSuffix(" HTTP/3") }) ?? true, http3?.isBusy == false { closeHTTP3() }
    }

    /// Closes the idle connection that was used least recently if there would be more connections than the limit allows, and one to another
    /// address of the same server, because it counts towards the limit of the origin. Called when a connection is about to be made.
    func makeRoomForConnection(for transfer: Transfer) {
        if transfer.options.route.hasOneOfSeveralAddresses {
            _ = wire.closeIdle(to: transfer.options.queue, except: transfer.options.wirePool)
        }
        if openSocketCount >= configuration.maximumConnections { wire.closeOldestIdle() }
    }

    // MARK: The lifetime

    var idleLifetime: Duration { .seconds(max(configuration.idleLifetimeSeconds, 1)) }

    /// Whether transfers have connections, or are on their way to one.
    var hasTransfers: Bool { http3?.isBusy == true || wire.hasTransfers }

    /// Sets the timer for the idle connections, which is not set yet.
    func setIdleTimer() {
        guard idleTimer == nil, watches != nil else { return }
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
        // The fields of earlier requests may be credentials.
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
        guard !limit.overflow else { return nil }
        let instant = EngineInstant(nanoseconds: limit.partialValue)
        let next = wire.closeIdle(usedUntil: instant)
        guard let http3, !http3.isBusy else { return next }
        guard http3.lastUse <= instant else { return min(http3.lastUse, next ?? http3.lastUse) }
        closeHTTP3()
        return next
    }

    /// Retires the connections from local addresses that the machine has lost.
    func retireConnections(where isLost: (IPAddress) -> Bool) {
        wire.retire { IPAddress(localOf: $0.socket).map(isLost) ?? false }
        // libcurl would send further requests on the connection.
        if let http3, http3.hasConnection(from: isLost) { http3.leaveConnections() }
    }

    /// Closes the idle connections to an origin by some routes, which are given by their numbers, and the others after their request.
    /// Connections over HTTP/3 stay.
    package func retireConnections(to origin: String, by routes: Set<Int>) {
        wire.retire { connection in routes.contains { TransferRoute.isQueue(connection.queue, of: origin, by: $0) } }
    }

    // MARK: File descriptors

    /// Whether a connection is idle.
    var hasIdleConnection: Bool { wire.idleCount > 0 || http3?.isIdle == true }

    /// Closes idle connections at once, because another engine has no file descriptor.
    func giveUpIdleConnections() {
        if !isBusy { return closeConnections() }
        closeIdleConnections(to: nil)
    }

    /// Starts a transfer again as soon as the other engines of the process have closed idle connections.
    func startWithDescriptorOfOthers(_ transfer: Transfer) {
        EnginePeer.giveUpIdleConnections(for: executor) { [self] in submit { self.resume(transfer) } }
    }
}
