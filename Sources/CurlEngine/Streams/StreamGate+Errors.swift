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
