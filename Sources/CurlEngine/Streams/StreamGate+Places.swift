/// The places for connections that the ``ConnectionBudget`` grants to the gate, and requests back from it.
extension StreamGate {
    var isStuck: Bool { executor.isStuck }

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
