/// Who hears of a transfer. Every call comes on the engine thread, most of them from inside libcurl: whatever they ask
/// of the transfer in return is done once libcurl has returned.
package protocol TransferDelegate: AnyObject {
    /// The connection is ready, TLS included, and the request goes out now.
    func transferIsConnected()
    /// A head with a status of 1xx.
    func transferDidReceiveInformational(_ head: WireHead)
    /// The final head.
    func transferDidReceiveHead(_ head: WireHead)
    /// Bytes of the body, decoded.
    func transferDidReceiveBody(_ bytes: RawSpan)
    /// The body has room for more chunks.
    func transferNeedsBody()
    /// So many bytes more of the body were handed to libcurl.
    func transferDidSendBody(_ count: Int)
    /// The end. No call comes after it, and none after ``Transfer/cancel()``.
    func transferDidEnd(_ end: TransferEnd)
}

/// How a transfer ended.
package struct TransferEnd: Sendable {
    /// `nil`: the response is complete.
    package let failure: EngineFailure?
    /// The fields after the body.
    package let trailers: WireFields
    package let report: TransferReport
}

extension TransferDelegate {
    /// Nobody wants to know.
    package func transferDidSendBody(_ count: Int) {}
}
