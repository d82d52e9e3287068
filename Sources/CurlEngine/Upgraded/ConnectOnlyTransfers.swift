/// The transfers of one engine whose connections libcurl has made and left to the engine, by socket.
final class ConnectOnlyTransfers {
    /// The most bytes that are received by one call.
    static let receiveSize = 64 << 10

    private var transfers: [Int32: Transfer] = [:]
    /// The number of connections that the engine has taken from libcurl.
    private(set) var takenCount = 0
    /// The socket that libcurl leaves open when it closes its connection; -1 if there is none.
    private var leaving: Int32 = -1

    /// Whether the engine has taken a connection that is still in use.
    var exist: Bool { !transfers.isEmpty }

    func transfer(on socket: Int32) -> Transfer? { transfers[socket] }

    func add(_ transfer: Transfer, on socket: Int32) { transfers[socket] = transfer }

    /// Takes the socket of a transfer from libcurl.
    ///
    /// - Parameter body: A closure that makes libcurl close the connection.
    /// - Returns: Whether libcurl has closed the connection. The socket is open nevertheless.
    func take(_ socket: Int32, _ body: () -> Void) -> Bool {
        leaving = socket
        body()
        guard leaving < 0 else {
            leaving = -1
            return false
        }
        takenCount += 1
        return true
    }

    /// Returns whether the engine takes a socket that libcurl is about to close, once.
    func takes(_ socket: Int32) -> Bool {
        guard leaving == socket, socket >= 0 else { return false }
        leaving = -1
        return true
    }

    /// Records that a socket that was taken from libcurl is closed.
    func didCloseTaken() { takenCount -= 1 }

    /// The transfers whose connections the engine has taken from libcurl.
    var taken: [Transfer] { takenCount > 0 ? transfers.values.filter(\.hasTakenConnection) : [] }

    /// Takes a socket that is about to be closed from its connection. Afterwards its number may belong to another socket.
    func willClose(_ socket: Int32) { transfers[socket]?.connection.switched?.forgetSocket() }

    /// Takes the sockets of all connections from them.
    func forgetSockets() { for transfer in transfers.values { transfer.connection.switched?.forgetSocket() } }

    /// Removes a transfer. Its socket may already belong to another transfer.
    func remove(_ transfer: Transfer) {
        transfer.connection.switched?.forgetSocket()
        guard let socket = transfer.handshake?.socket, transfers[socket] === transfer else { return }
        transfers[socket] = nil
    }

    /// Forgets all transfers, which refer to their engine.
    func removeAll() {
        forgetSockets()
        transfers = [:]
    }
}
