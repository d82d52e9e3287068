import CurlEngine

/// The progress of the bodies of a request and its response, for the meters that measure it.
extension ExchangeActor {
    /// Measures the request's body with a meter from now on. Does nothing for a request without a body.
    func measureUpload(with meter: ProgressBroadcaster) {
        switch prepared.wire.body {
        case .none: return
        case .bytes(let bytes): meter.expect(Int64(bytes.count))
        case .stream(let length): meter.expect(length)
        }
        uploadMeter = meter
        meter.jump(to: sentBodyBytes)
        if head != nil { noteInlineBody() }
    }

    /// Counts bytes of the body that the transport has sent.
    func didSendBody(_ count: Int, in attempt: ExchangeState.Attempt) {
        if isPresent(attempt) { countSentBody(count) }
    }

    func countSentBody(_ count: Int) {
        sentBodyBytes += Int64(count)
        uploadMeter?.advance(by: count)
        if flow != nil { countSent(count) }
    }

    /// Resets the number of sent bytes for the attempt that begins.
    func resetUpload() {
        sentBodyBytes = 0
        uploadMeter?.jump(to: 0)
    }

    /// Counts a body that was passed to the transport in one piece and sent with its head.
    func noteInlineBody() {
        guard case .bytes(let bytes) = prepared.wire.body else { return }
        uploadMeter?.advance(by: bytes.count)
    }

    // MARK: The response's body

    /// Measures the response's body with a meter from now on.
    func measureDownload(with meter: ProgressBroadcaster) {
        downloadMeter = meter
        if state.isEnded {
            expectDownload()
            return meter.jump(to: measuredBytes)
        }
        measuredBytes = 0
        meter.jump(to: 0)
        guard head != nil else { return }
        expectDownload()
        measureDownload()
    }

    /// Sets the progress of the response's body to end with the exchange.
    func endDownloadMeterAtEnd() {
        endsDownloadMeter = true
        if state.isEnded { downloadMeter?.finish() }
    }

    /// Reports the size that the head announces to the meter, unless the response has no body.
    func expectDownload() {
        guard let head, !head.status.hasNoBody(after: prepared.method) else { return }
        downloadMeter?.expect(head.headers[.contentLength].flatMap { Int64($0) })
    }

    /// Counts received bytes before decoding, like the length in the head, if the transport knows their number; otherwise decoded bytes.
    func measureDownload() {
        let total = task?.receivedBodyBytes ?? Int64(bodyCount)
        downloadMeter?.advance(by: Int(total - measuredBytes))
        measuredBytes = total
    }
}
