import CurlEngine

/// The connection on which the server has switched protocols (RFC 9110, section 7.8). The exchange keeps its slot until the connection is
/// closed.
extension ExchangeActor {
    /// Passes the connection to the reader of the response.
    func switchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection) {
        guard !state.isEnded, case .stream(let inbox) = sink, inbox.accept(connection) else {
            return connection.close()
        }
        handle(.switchProtocols)
        receive(head, in: .first)
    }

    /// Closes the connection, whose reader gets the error with which the exchange ends.
    func endConnection() {
        task?.endConnection(with: failure ?? CancellationError())
    }
}

extension ExchangeActor: ConnectionTransportEvents {
    nonisolated func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection) {
        guard executor.isCurrent else { return submitDirectly { $0.switchProtocols(head, connection) } }
        onEngineThread.switchProtocols(head, connection)
    }
}
