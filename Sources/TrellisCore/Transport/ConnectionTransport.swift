/// An attempt whose server can switch protocols, so that the connection outlives the response.
package protocol ConnectionTransportTask: TransportTask {
    /// Closes the connection on which the server has switched protocols. Its reader and its writers get the error.
    func endConnection(with error: any Error)
}

/// The receiver of the events of an attempt that asks the server to switch protocols (RFC 9110, section 7.8).
package protocol ConnectionTransportEvents: TransportEvents {
    /// Delivers the head of a response of status 101, and the connection that belongs to its reader from now on. Called instead of
    /// ``TransportEvents/transportDidReceiveHead(_:)``; the attempt ends with the connection.
    func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection)
}
