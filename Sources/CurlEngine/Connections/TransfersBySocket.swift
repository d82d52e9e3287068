/// The transfers that need work when their sockets are ready, by socket. The table is for versions of libcurl that use a connection for
/// only one transfer at a time.
struct TransfersBySocket {
    private var bySocket: [Int32: Transfer] = [:]
    /// The transfers whose socket libcurl has not named yet.
    private var unnamed: [ObjectIdentifier: Transfer] = [:]

    var count: Int { bySocket.count + unnamed.count }

    /// Adds a transfer.
    mutating func insert(_ transfer: Transfer) {
        let socket = transfer.easy?.socket ?? -1
        unnamed[ObjectIdentifier(transfer)] = socket < 0 ? transfer : nil
        if socket >= 0 { bySocket[socket] = transfer }
    }

    /// Removes a transfer. Must be called while the transfer is in libcurl.
    mutating func remove(_ transfer: Transfer) {
        if !unnamed.isEmpty { unnamed[ObjectIdentifier(transfer)] = nil }
        guard !bySocket.isEmpty, let socket = transfer.easy?.socket, bySocket[socket] === transfer else { return }
        bySocket[socket] = nil
    }

    /// Returns the transfer with this socket.
    mutating func transfer(on socket: Int32) -> Transfer? {
        if !unnamed.isEmpty { findSockets() }
        guard !bySocket.isEmpty, let transfer = bySocket[socket] else { return nil }
        guard transfer.easy?.socket != socket else { return transfer }
        // The transfer has moved to another connection.
        bySocket[socket] = nil
        return nil
    }

    private mutating func findSockets() {
        let transfers = unnamed.values.filter { $0.easy != nil }
        unnamed = [:]
        for transfer in transfers { insert(transfer) }
    }
}
