import CCurl
private import Glibc

/// The connections that the engine has taken from libcurl. libcurl's handle and its connection take ten kilobytes, and each of its calls
/// looks for the connection among all others, which takes a tenth of a millisecond if there are thousands.
///
/// A connection without TLS is no more than its socket once the protocols are switched. The socket stays in the table of sockets, so that
/// it is counted, observed and closed as if libcurl had it.
extension CurlEngine {
    /// Takes the connection of a transfer from libcurl, if it is switched and has no TLS. libcurl must have received no byte that it has
    /// not delivered.
    ///
    /// libcurl closes a connection that it has only made without a last look at it: it neither sends nor receives on the socket, nor shuts
    /// the socket down, and the callback for closing leaves the socket open.
    ///
    /// - Returns: `false` if libcurl has the connection, but not its transfer any more, which has failed.
    func takeConnection(of transfer: Transfer) -> Bool {
        guard let multi, let easy = transfer.easy, let handshake = transfer.handshake,
            let connection = transfer.connection.switched,
            !transfer.options.isEncryptedOnTheWire
        else { return true }
        // While the easy handle is there, it is known whether libcurl has the addresses.
        if transfer.lookup != .none { endLookup(transfer) }
        let report = easy.report(of: transfer)
        let isTaken = connectOnlyTransfers.take(handshake.socket) { multi.remove(transfer, hasFailed: false) }
        guard isTaken else {
            let failure = EngineFailure(kind: .internalError, message: "libcurl has kept a connection")
            connection.didFail(failure)
            connection.wakeReader()
            return false
        }
        handshake.didTakeConnection(report)
        connection.allowDirectReading()
        return true
    }

    /// Closes the socket of a transfer that was taken from libcurl.
    func closeTakenConnection(of transfer: Transfer) {
        guard let handshake = transfer.handshake, transfer.hasTakenConnection else { return }
        connectOnlyTransfers.didCloseTaken()
        if let multi { unsafe multi.sockets.willClose(handshake.socket) }
        _ = Glibc.close(handshake.socket)
    }

    /// Closes all sockets that were taken from libcurl, because the engine ends. The other sockets of connections are forgotten.
    func closeTakenConnections() {
        connectOnlyTransfers.forgetSockets()
        for transfer in connectOnlyTransfers.taken {
            closeTakenConnection(of: transfer)
            transfer.abandon()
        }
    }
}
