package import CurlEngine
public import FoundationEssentials

/// The receiver of an attempt's events: its exchange. The methods may be called from any thread, one call after the other.
@_spi(Transport) public protocol TransportEvents: AnyObject, Sendable {
    /// Notifies the exchange that the connection is ready and the request is being sent.
    func transportIsConnected()
    /// Notifies the exchange that a head with a status of 1xx was received.
    func transportDidReceiveInformational(_ head: ResponseHead)
    /// Notifies the exchange that the final head was received.
    func transportDidReceiveHead(_ head: ResponseHead)
    /// Notifies the exchange that bytes of the decoded body were received.
    func transportDidReceiveBody(_ bytes: RawSpan)
    /// Notifies the exchange that many bytes of the decoded body were received, which the exchange keeps without a copy. The default
    /// delivers the bytes alone.
    func transportDidReceiveBody(chunk: Data)
    /// Notifies the exchange that there is room for more of the request's body.
    func transportNeedsBody()
    /// Notifies the exchange that further bytes of the request's body were sent. Called only by attempts that count these bytes
    /// (``TransportTask/countsSentBody``).
    func transportDidSendBody(_ count: Int)
    /// Notifies the exchange that the attempt has ended.
    func transportDidEnd(_ end: TransportEnd)
}

@_spi(Transport) extension TransportEvents {
    /// Delivers the bytes alone.
    public func transportDidReceiveBody(chunk: Data) { transportDidReceiveBody(chunk.bytes) }
    /// Does nothing.
    public func transportDidSendBody(_ count: Int) {}
}

/// The receiver of what a transport that makes connections tells of one, besides the events of every transport.
package protocol ConnectionTransportEvents: TransportEvents {
    /// Delivers the certificates of the server, before any byte of the request is sent on a connection; `nil` if they are not known. Called
    /// on the engine thread. If the attempt is cancelled during the call, nothing is sent.
    func transportDidReceiveCertificates(_ chain: CertificateChain?)
    /// Whether the steps are observed.
    var observesSteps: Bool { get }
    /// Notifies the exchange of a step, on the engine thread.
    func transportDidReach(_ step: TransferStep)
    /// Delivers the head of a response of status 101 (RFC 9110, section 7.8), and the connection that belongs to its reader from now on.
    /// Called instead of ``TransportEvents/transportDidReceiveHead(_:)``; the attempt ends with the connection.
    func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection)
}

extension ConnectionTransportEvents {
    /// The default, `false`: the steps are not observed.
    package var observesSteps: Bool { false }
    /// Does nothing.
    package func transportDidReach(_ step: TransferStep) {}
    /// Closes the connection, for which there is no use.
    package func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection) {
        connection.close()
    }
}
