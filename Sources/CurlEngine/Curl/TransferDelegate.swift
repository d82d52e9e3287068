/// The receiver of a transfer's events. Every call comes on the engine thread, most of them from inside libcurl; requests that
/// the delegate makes of the transfer meanwhile take effect once libcurl has returned.
package protocol TransferDelegate: AnyObject {
    /// Tells the delegate that the connection is ready, TLS included, and that the request goes out now.
    func transferIsConnected()
    /// Delivers a head with a status of 1xx.
    func transferDidReceiveInformational(_ head: WireHead)
    /// Delivers the final head.
    func transferDidReceiveHead(_ head: WireHead)
    /// Delivers bytes of the body, decoded.
    func transferDidReceiveBody(_ bytes: RawSpan)
    /// Tells the delegate that the body has room for more chunks.
    func transferNeedsBody()
    /// Tells the delegate that `count` more bytes of the body were handed to libcurl.
    func transferDidSendBody(_ count: Int)
    /// Delivers the end of the transfer. No call comes after this one, and none after ``Transfer/cancel()``.
    func transferDidEnd(_ end: TransferEnd)
}

/// The end of a transfer.
package struct TransferEnd: Sendable {
    /// The failure of the transfer; `nil` if the response is complete.
    package let failure: EngineFailure?
    /// The fields after the body.
    package let trailers: WireFields
    /// The measurements of the transfer.
    package let report: TransferReport
}

extension TransferDelegate {
    /// Ignores the count.
    package func transferDidSendBody(_ count: Int) {}
}
