/// The places for connections that the ``ConnectionBudget`` grants to the gate, and requests back from it.
extension StreamGate {
    /// Returns the receiver of the places of an origin.
    func places(of origin: SharedOrigin) -> any ConnectionReceiver {
        guard let places = origin.places else { return self }
        return places
    }

    func grantConnection(to origin: String) { grantConnection(to: origin, in: origin, for: self) }

    /// Gives a place for a connection to a pool.
    ///
    /// - Parameters:
    ///   - limitName: The name by which the connection is counted.
    ///   - receiver: The receiver of the pool's places.
    func grantConnection(to limitName: String, in pool: String, for receiver: any ConnectionReceiver) {
        executor.submit { self.connectionWasGranted(to: limitName, in: pool, for: receiver) }
    }

    private func connectionWasGranted(to limitName: String, in pool: String, for receiver: any ConnectionReceiver) {
        // The pool may have been forgotten since, and made again with another receiver.
        guard let origin = origins[pool], places(of: origin) === receiver else {
            return budget.end(limitName, for: receiver)
        }
        noteLimit(origin)
        origin.permits.awaitsPlace = false
        origin.permits.granted += 1
        if origin.permits.excess == 0 { release(origin) }
        // The transfers that waited for the place may have left.
        guard origin.permits.granted > 0 else { return }
        while origin.permits.granted > 0 {
            origin.permits.granted -= 1
            endPlace(origin)
        }
        // The place was one too many. The transfers that wait request another one.
        if origin.permits.excess == 0 { release(origin) }
    }

    /// Returns whether the next places of an origin are to be returned instead of used. Others may have returned enough places in the
    /// meantime.
    func hasExcess(_ origin: SharedOrigin) -> Bool {
        if origin.permits.excess > 0, budget.isKept(origin.limitName) { origin.permits.excess = 0 }
        return origin.permits.excess > 0
    }

    func endPlace(_ origin: SharedOrigin) {
        budget.end(origin.limitName, for: places(of: origin), idle: origin.idleCount)
        if origin.permits.excess > 0 { origin.permits.excess -= 1 }
        if origin.permits.owed > 0 { origin.owe(budget.owedCount(origin.limitName, by: places(of: origin))) }
    }

    func requestConnections(of origin: String) { executor.submit { self.connectionsAreRequested(of: origin) } }

    private func connectionsAreRequested(of name: String) {
        guard let origin = origins[name] else { return }
        origin.owe(budget.owedCount(origin.limitName, by: places(of: origin)))
        release(origin)
    }
}

/// The idle connections that can carry streams. They count towards the limit of their origin: if another engine makes a connection at the
/// limit, it closes one of them in exchange.
extension StreamGate {
    /// Records that no stream uses a connection any more, and that the connection is still open.
    func didBecomeIdle(_ name: String, port: Int32) {
        guard let origin = origins[name], !origin.hasStreams(on: port), origin.idlePorts.insert(port).inserted else {
            return
        }
        budget.setIdle(origin.limitName, origin.idleCount, for: places(of: origin))
    }

    /// Records that an idle connection was closed.
    func didClose(_ name: String, port: Int32) {
        guard let origin = origins[name], origin.idlePorts.remove(port) != nil else { return }
        budget.setIdle(origin.limitName, origin.idleCount, for: places(of: origin))
    }

    func closeIdleConnection(to origin: String, then body: @escaping @Sendable () -> Void) {
        let executor = executor
        executor.submit {
            executor.engineLoop.closeIdleConnections(to: origin)
            body()
        }
    }
}

/// The reasons why transfers wait for a stream, for errors and for the limit on connecting.
extension StreamGate {
    /// Returns the instant from which the connecting of a transfer counts: now while the transfer waits because of a limit, and later the
    /// end of that wait, also while the transfer waits for another request that is connecting; `nil` if no limit has kept it waiting.
    ///
    /// The instant may be one before the transfer began to connect, if others have waited then. It has no effect in that case.
    func connectStart(_ transfer: Transfer) -> EngineInstant? {
        guard transfer.place.use == .waiting, let origin = knownOrigin(transfer) else { return transfer.place.waitEnd }
        return hasLimit(origin) ? executor.now : origin.limitEnd ?? transfer.place.waitEnd
    }

    /// Returns whether transfers of an origin wait because of a limit of streams or connections, and not for the first connection.
    private func hasLimit(_ origin: SharedOrigin) -> Bool { origin.connectionCount > 0 || origin.permits.awaitsPlace }

    /// Records that the waiting transfers of an origin wait because of a limit, if they do. Called before that changes, and before
    /// transfers pass.
    func noteLimit(_ origin: SharedOrigin) {
        if origin.waitingCount > 0, hasLimit(origin) { origin.limitEnd = executor.now }
    }

    /// Returns the reason why a transfer waits, for errors; `nil` if it does not wait here.
    func reason(for transfer: Transfer) -> String? {
        guard transfer.place.use == .waiting, let origin = knownOrigin(transfer) else { return nil }
        let count = origin.connectionCount + origin.permits.connecting + origin.permits.reserved
        if origin.permits.awaitsPlace, origin.connectionCount == 0 {
            return budget.inUseCount(origin.limitName) >= budget.perOrigin
                ? "all connections to the origin that the limit allows (\(budget.perOrigin)) are in use"
                : "all connections of the session (\(budget.total)) are in use"
        }
        guard origin.connectionCount > 0 else { return "another request is connecting to \(origin.name)" }
        let connections =
            count == 1 ? "the connection to \(origin.name) carries" : "all \(count) connections to \(origin.name) carry"
        return "\(connections) as many requests as the server or libcurl allows (\(origin.limit) each)"
    }
}

/// The places for connections of single transfers (``OwnConnection``).
extension StreamGate {
    /// Returns whether a transfer is passed to libcurl for a connection of its own. Only a place that is free is taken: others might keep
    /// their places for long.
    func admitsToOwnConnection(_ transfer: Transfer, _ origin: SharedOrigin) -> Bool {
        guard transfer.place.ownConnection == .wanted else {
            return transfer.place.ownConnection == .granted && transfer.place.use == .reserved
        }
        guard !hasExcess(origin), budget.beginAtOnce(origin.limitName, for: places(of: origin)) else {
            transfer.place.ownConnection = .unavailable
            return false
        }
        transfer.place.ownConnection = .granted
        transfer.place.use = .reserved
        origin.permits.reserved += 1
        origin.pass(transfer)
        return true
    }
}
