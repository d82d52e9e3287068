/// The receiver of the events of an attempt that asks the server to switch protocols (RFC 9110, section 7.8).
package protocol ConnectionTransportEvents: TransportEvents {
    /// Delivers the head of a response of status 101, and the connection that belongs to its reader from now on. Called instead of
    /// ``TransportEvents/transportDidReceiveHead(_:)``; the attempt ends with the connection.
    func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection)
}
