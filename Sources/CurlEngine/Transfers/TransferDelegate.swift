package import FoundationEssentials

/// The receiver of a transfer's events. Every call is made on the engine thread. Changes to the transfer that the delegate makes during a
/// call take effect after the call has returned.
package protocol TransferDelegate: AnyObject {
    /// Delivers the certificates of the server, before any byte of the request is sent on the connection; `nil` if they are not known.
    /// Called for transfers that read certificates, each time that the request is about to be sent. If the delegate cancels the transfer,
    /// nothing is sent.
    func transferDidReceiveCertificates(_ chain: CertificateChain?)
    /// Whether the delegate observes the steps of the transfer.
    var observesSteps: Bool { get }
    /// Notifies the delegate of a step, if it observes them.
    func transferDidReach(_ step: TransferStep)
    /// Notifies the delegate that the connection is ready, including TLS, and that the request is being sent.
    func transferIsConnected()
    /// Delivers a head with a status of 1xx.
    func transferDidReceiveInformational(_ head: WireHead)
    /// Delivers the final head.
    func transferDidReceiveHead(_ head: consuming WireHead)
    /// Delivers decoded bytes of the body.
    func transferDidReceiveBody(_ bytes: RawSpan)
    /// Delivers many bytes of the body, which the delegate can keep without a copy.
    func transferDidReceiveBody(chunk: Data)
    /// Notifies the delegate that there is room for more chunks of the body.
    func transferNeedsBody()
    /// Notifies the delegate that `count` more bytes of the body were passed to the connection.
    func transferDidSendBody(_ count: Int)
    /// Delivers the head with which the server switches protocols, and the connection, which the delegate must close. Called for transfers
    /// that ask for it, instead of ``transferDidReceiveHead(_:)``; the transfer ends with the connection.
    func transferDidSwitchProtocols(_ head: WireHead, _ connection: SwitchedConnection)
    /// Delivers the end of the transfer. No call follows this one, or ``Transfer/cancel()``.
    func transferDidEnd(_ end: consuming TransferEnd)
}

/// The end of a transfer.
package struct TransferEnd: Sendable {
    /// The failure of the transfer; `nil` if the response is complete.
    package let failure: EngineFailure?
    /// The fields that were received after the body.
    package let trailers: WireFields
    /// The measurements of the transfer.
    package internal(set) var report: TransferReport
}

extension TransferDelegate {
    /// The default, `false`: the delegate observes no steps.
    package var observesSteps: Bool { false }
    /// Does nothing.
    package func transferDidReach(_ step: TransferStep) {}
    /// Delivers the bytes alone.
    package func transferDidReceiveBody(chunk: Data) { transferDidReceiveBody(chunk.bytes) }
    /// Does nothing: every server that the handshake has accepted is trusted.
    package func transferDidReceiveCertificates(_ chain: CertificateChain?) {}
    /// Closes the connection, for which there is no use.
    package func transferDidSwitchProtocols(_ head: WireHead, _ connection: SwitchedConnection) { connection.close() }
    /// Does nothing: the count is optional.
    package func transferDidSendBody(_ count: Int) {}
}
