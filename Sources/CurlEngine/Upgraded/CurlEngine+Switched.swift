/// The connections on which servers have switched protocols: the ones on which their transfers have asked for that.
extension CurlEngine {
    /// Sends and receives on the connection of a transfer, as far as that is possible now.
    ///
    /// Called when the socket is ready and when a buffer has changed. TLS may hold bytes that it has received already,
    /// and the kernel does not report those: so each call receives first and waits for the socket afterwards.
    func advanceSwitched(_ transfer: Transfer) {
        guard let switched = transfer.connection.switched, !transfer.isCancelled else { return }
        if let failure = transfer.failure {
            // The watchdog has shut down the connection.
            switched.didFail(failure)
            switched.wakeReader()
            return wire.end(transfer, nil)
        }
        if let connection = transfer.wire.http2 { return connection.advance(transfer, switched) }
        guard let connection = transfer.wire.connection else { return }
        let step = switched.serve(ConnectionChannel(connection.link), wire)
        guard !transfer.isCancelled else { return }
        switch step {
        case .wait(let interest): connection.watch(for: interest, on: self)
        case .goOn:
            // The socket is ready in each turn, and would add a step to each of them.
            guard !connection.advancesSoon else { return }
            connection.advancesSoon = true
            submit { [self] in
                connection.advancesSoon = false
                advanceSwitched(transfer)
            }
        case .end: wire.end(transfer, nil)
        }
    }

    /// Sends the outgoing bytes of a connection at once, for a writer on this thread, so that they need not wait for the next turn. Further
    /// bytes of the same turn are collected, and sent together.
    func sendSwitched(_ transfer: Transfer) {
        guard !transfer.isCancelled, transfer.failure == nil, let switched = transfer.connection.switched,
            let connection = transfer.wire.connection,
            switched.mayBeginSending(in: executor.engineLoop.systemNow),
            // The rest is sent when the socket is ready.
            switched.send(ConnectionChannel(connection.link)) == nil
        else { return submit { [self] in advanceSwitched(transfer) } }
    }

    /// Sends the last bytes of a connection that ends, as far as the socket's buffer takes them at once.
    func flushSwitched(_ transfer: Transfer) {
        guard let switched = transfer.connection.switched, let connection = transfer.wire.connection else { return }
        _ = switched.send(ConnectionChannel(connection.link))
    }
}
