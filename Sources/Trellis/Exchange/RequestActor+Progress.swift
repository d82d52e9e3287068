import CurlEngine

/// How far the body of a request is, for those who want to know.
extension RequestActor {
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
}
