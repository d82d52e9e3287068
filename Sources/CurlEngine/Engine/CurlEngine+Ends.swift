/// The ends of transfers, which may be delayed until the reader has taken all bytes.
extension CurlEngine {
    /// Delivers more of the decoded bytes, and the end of the transfer after all of them were taken.
    func finishHeld(_ transfer: Transfer) {
        guard let end = transfer.receiving.heldEnd, !transfer.isCancelled else { return }
        let isDecoded = transfer.decodeFurther()
        guard !isDecoded || !transfer.isHeldUp, !transfer.isCancelled else { return }
        let failure = isDecoded ? transfer.finishDecoding() : transfer.failure
        report(TransferEnd(failure: failure, trailers: end.trailers, report: end.report), of: transfer)
    }

    /// Notifies the delegate of a transfer of its end.
    func report(_ end: consuming TransferEnd, of transfer: Transfer) {
        transfer.isCancelled = true
        let delegate = transfer.delegate
        transfer.delegate = nil
        delegate?.transferDidEnd(end)
    }
}
