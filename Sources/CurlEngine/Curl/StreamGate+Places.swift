/// The places for connections that the ``ConnectionBudget`` grants to the gate, and requests back from it.
extension StreamGate {
    var isStuck: Bool { executor.isStuck }

    func grantConnection(to origin: String) { executor.submit { self.connectionWasGranted(to: origin) } }

    private func connectionWasGranted(to name: String) {
        guard let origin = origins[name] else { return budget.end(name, for: self) }
        noteLimit(origin)
        origin.awaitsPlace = false
        origin.granted += 1
        if origin.excess == 0 { release(origin) }
        // The transfers that waited for the place may have left.
        guard origin.granted > 0 else { return }
        while origin.granted > 0 {
            origin.granted -= 1
            endPlace(origin)
        }
        // The place was one too many. The transfers that wait request another one.
        if origin.excess == 0 { release(origin) }
    }

    /// Returns whether the next places of an origin are to be returned instead of used. Others may have returned enough places in the
    /// meantime.
    func hasExcess(_ origin: SharedOrigin) -> Bool {
        if origin.excess > 0, budget.isKept(origin.name) { origin.excess = 0 }
        return origin.excess > 0
    }

    func endPlace(_ origin: SharedOrigin) {
        budget.end(origin.name, for: self, idle: origin.idleCount)
        if origin.excess > 0 { origin.excess -= 1 }
        if origin.owed > 0 { origin.owe(budget.owedCount(origin.name, by: self)) }
    }

    func requestConnections(of origin: String) { executor.submit { self.connectionsAreRequested(of: origin) } }

    private func connectionsAreRequested(of name: String) {
        guard let origin = origins[name] else { return }
        origin.owe(budget.owedCount(name, by: self))
        release(origin)
    }
}
