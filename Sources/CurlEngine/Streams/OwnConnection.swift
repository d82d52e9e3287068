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

extension EasyHandle {
    /// Makes libcurl open a connection for the transfer if the transfer has a place for one of its own.
    func makeOwnConnection(for transfer: Transfer) {
        guard transfer.place.ownConnection == .granted, transfer.place.use == .reserved else { return }
        set(CURLOPT_FRESH_CONNECT, 1)
        closeAfterwards()
    }
}
