import CurlEngine

/// How far the bodies of a request and its answer are, for those who want to know.
extension ExchangeActor {
    /// Tells the meter of the body from now on. A request without a body has nothing to tell.
    func measureUpload(with meter: ProgressBroadcaster) {
        switch prepared.transportRequest.wire.body {
        case .none: return
        case .bytes(let bytes): meter.expect(Int64(bytes.count))
        case .stream(let length): meter.expect(length)
        }
        uploadMeter = meter
        meter.jump(to: sentBodyBytes)
        if head != nil { noteInlineBody() }
    }

    /// The transport has taken bytes of the body.
    func sentBody(_ count: Int) {
        sentBodyBytes += Int64(count)
        uploadMeter?.advance(by: count)
        if flow != nil { countSent(count) }
    }

    /// Nothing has been sent yet of the attempt that begins.
    func resetUpload() {
        sentBodyBytes = 0
        uploadMeter?.jump(to: 0)
    }

    /// A body that was handed over whole has gone with its head.
    func noteInlineBody() {
        guard case .bytes(let bytes) = prepared.transportRequest.wire.body else { return }
        uploadMeter?.advance(by: bytes.count)
    }

    // MARK: The answer's

    /// Tells the meter of the answer's body from now on.
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

    /// The head says how much comes, unless there is none of it.
    func expectDownload() {
        guard let head, prepared.method != .head, head.status != .noContent, head.status != .notModified else {
            return
        }
        downloadMeter?.expect(head.headers[.contentLength].flatMap { Int64($0) })
    }

    /// Bytes count as they come over the wire, which is what the head has spoken of, where the transport knows them.
    func measureDownload() {
        let total = task?.receivedBodyBytes ?? Int64(bodyCount)
        downloadMeter?.advance(by: Int(total - measuredBytes))
        measuredBytes = total
    }
}
