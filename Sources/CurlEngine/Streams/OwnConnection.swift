import CCurl

/// The state of a transfer with regard to a connection of its own.
///
/// A transfer that reads certificates gets one if libcurl has chosen a connection that has resumed a TLS session, and therefore has no
/// chain of them, while other transfers have streams there. That connection stays. The new one is closed after the transfer: for the next
/// transfer, libcurl would choose the older connection again.
enum OwnConnection {
    /// The transfer has not left a connection of others.
    case unneeded
    /// The transfer has left a connection of others, and starts again.
    case wanted
    /// There was a place for the connection at once.
    case granted
    /// There was no place, so that the transfer uses the connections of others.
    case unavailable
}

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

extension EasyHandle {
    /// Makes libcurl open a connection for the transfer if the transfer has a place for one of its own.
    func makeOwnConnection(for transfer: Transfer) {
        guard transfer.place.ownConnection == .granted, transfer.place.use == .reserved else { return }
        set(CURLOPT_FRESH_CONNECT, 1)
        closeAfterwards()
    }
}
