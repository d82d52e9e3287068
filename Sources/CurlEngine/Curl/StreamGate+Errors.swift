/// The reasons why transfers wait for a stream, for errors.
extension StreamGate {
    /// Returns whether a transfer waits because of a limit, and not for another request that is connecting.
    func isHeldByLimit(_ transfer: Transfer) -> Bool {
        guard transfer.streamUse == .waiting, let origin = knownOrigin(transfer) else { return false }
        return hasLimit(origin)
    }

    /// Returns whether transfers of an origin wait because of a limit of streams or connections, and not for the first connection.
    func hasLimit(_ origin: SharedOrigin) -> Bool { origin.connectionCount > 0 || origin.awaitsPlace }

    /// Returns the reason why a transfer waits, for errors; `nil` if it does not wait here.
    func reason(for transfer: Transfer) -> String? {
        guard transfer.streamUse == .waiting, let origin = knownOrigin(transfer) else { return nil }
        let count = origin.connectionCount + origin.connecting + origin.reserved
        if origin.awaitsPlace, origin.connectionCount == 0 {
            return budget.inUseCount(origin.name) >= budget.perOrigin
                ? "all connections to the origin that the limit allows (\(budget.perOrigin)) are in use"
                : "all connections of the session (\(budget.total)) are in use"
        }
        guard origin.connectionCount > 0 else { return "another request is connecting to \(origin.name)" }
        let connections =
            count == 1 ? "the connection to \(origin.name) carries" : "all \(count) connections to \(origin.name) carry"
        return "\(connections) as many requests as the server or libcurl allows (\(origin.limit) each)"
    }
}
