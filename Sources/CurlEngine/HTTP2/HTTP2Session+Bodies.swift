import CCurl

/// The bodies of responses and requests.
extension HTTP2Session {
    /// The largest number of held bytes that are delivered at once.
    private static let releasedAtOnce = 64 << 10
    /// The length of DATA frames that no window cuts short.
    private static let frameSize = 16 << 10

    // MARK: Responses

    /// Holds back the bytes of a response from now on, and its end. The server can send as many as the stream's window allows.
    func hold(_ stream: HTTP2Stream) { stream.isHeld = true }

    /// Delivers the bytes that were held back, as far as the receiver does not hold the stream again, and what follows them.
    func release(_ stream: HTTP2Stream) {
        stream.isHeld = false
        now = unsafe delegate.now
        while stream.isActive, !stream.isHeld, unsafe stream.receiving.heldCount > 0 {
            let (held, start) = unsafe (stream.receiving.held, stream.receiving.start)
            let count = min(held.count - start, Self.releasedAtOnce)
            unsafe stream.receiving.start = start + count
            if unsafe stream.receiving.heldCount == 0 {
                unsafe (stream.receiving.held, stream.receiving.start) = ([], 0)
            }
            deliver(unsafe held.span.extracting(start..<start + count).bytes, to: stream)
        }
        guard stream.isActive, !stream.isHeld, let end = unsafe stream.receiving.end else { return }
        finish(stream, end)
    }

    /// Uses bytes of a response's body.
    func receive(_ bytes: RawSpan, of stream: HTTP2Stream) {
        guard stream.hasFinalHead else {
            return fail(stream, EngineFailure(kind: .malformedResponse, message: "the body comes before the head"))
        }
        var count = bytes.byteCount
        if let rest = unsafe stream.receiving.rest {
            count = Int(min(rest, Int64(count)))
            unsafe stream.receiving.rest = rest - Int64(count)
        }
        if count > 0 { take(bytes.extracting(0..<count), of: stream) }
        guard count < bytes.byteCount else { return }
        fail(
            stream, EngineFailure(kind: .malformedResponse, message: "the body is longer than its head announces"))
    }

    private func take(_ bytes: RawSpan, of stream: HTTP2Stream) {
        guard unsafe stream.isHeld || stream.receiving.heldCount > 0 else { return deliver(bytes, to: stream) }
        // A slow reader may never take all bytes. Those that it has taken are dropped once they are the most.
        if unsafe stream.receiving.start > stream.receiving.heldCount {
            unsafe stream.receiving.held.removeFirst(stream.receiving.start)
            unsafe stream.receiving.start = 0
        }
        unsafe bytes.withUnsafeBytes { bytes in unsafe stream.receiving.held.append(contentsOf: bytes) }
    }

    /// Passes bytes to the reader, and grants as many to the server.
    private func deliver(_ bytes: RawSpan, to stream: HTTP2Stream) {
        unsafe delegate.stream(stream, didReceiveBody: bytes)
        // After the end of the response there is nothing to grant.
        guard stream.isActive, unsafe stream.receiving.end == nil else { return }
        unsafe ccurl_http2_grant(connection, stream.number, bytes.byteCount)
        let now = self.now
        var window =
            unsafe stream.window
            ?? HTTP2ReceiveWindow(size: settings.limits.streamWindow, limit: settings.largestWindow, at: now)
        let hasGrown = unsafe window.take(
            bytes.byteCount, unread: stream.receiving.heldCount, roundTrip: policy.keepalive.roundTrip, at: now)
        if hasGrown {
            unsafe ccurl_http2_set_window(connection, stream.number, Int32(clamping: window.size))
            perform(unsafe policy.keepalive.measureRoundTrip(at: now))
        }
        unsafe stream.window = window
    }

    /// Ends a response. What is missing of the request is not sent any more.
    func end(_ stream: HTTP2Stream, trailers: WireFields) {
        // A stream on which both sides have ended needs no reset.
        let end: HTTP2Policy.StreamEnd? = stream.isRequestSent ? .failed : nil
        guard stream.hasFinalHead else {
            let text = "the server ended the stream without a head"
            return fail(stream, EngineFailure(kind: .emptyReply, message: text), by: end)
        }
        if let rest = unsafe stream.receiving.rest, rest > 0 {
            let text = "the server ended the stream \(rest) bytes before the end of the body"
            return fail(stream, EngineFailure(kind: .bodyCutShort, message: text), by: end)
        }
        guard !stream.isSwitched else { return finish(stream, .success(trailers)) }
        if stream.isRequestSent {
            unsafe ccurl_http2_forget(connection, stream.number)
        } else {
            // The server may send the end of the stream, or more, before it knows.
            unsafe policy.didReset(window: Int(ccurl_http2_window(connection, stream.number)))
            unsafe ccurl_http2_reset(connection, stream.number, HTTP2ErrorCode.noError.rawValue)
        }
        unsafe policy.didCloseStream(.completed)
        finish(stream, .success(trailers))
    }

    // MARK: Requests

    /// Writes the next bytes of a request's body.
    func fillBody(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> ccurl_http2_part {
        var part = ccurl_http2_part()
        part.waits = true
        // An extended CONNECT sends nothing before the server has accepted it.
        guard stream.isActive, unsafe !stream.sending.isHeldBack, unsafe stream.upgrade == nil || stream.isSwitched
        else { return part }
        let isStream = unsafe stream.sending.isStream
        let other = unsafe otherBytes(of: stream, into: room)
        let next = unsafe other ?? (isStream ? ask(stream, room) : copyBody(of: stream, into: room))
        guard stream.isActive, next.count > 0 || next.isEnd else { return part }
        if let rest = unsafe stream.sending.rest {
            // The server would not accept another length than the announced one.
            guard next.count < rest && !next.isEnd || next.count == rest else {
                let text = "the body has another length than the one announced"
                fail(stream, EngineFailure(kind: .internalError, message: text), resetting: .cancel)
                return part
            }
            unsafe stream.sending.rest = rest - Int64(next.count)
        }
        if next.isEnd, let trailers = next.trailers {
            part.has_trailers = unsafe trailers.bytes.withUnsafeBytes { lines in
                unsafe ccurl_http2_submit_trailers(connection, stream.number, lines.baseAddress, lines.count)
            }
            guard part.has_trailers else {
                let text = "a trailer field of the request is malformed"
                fail(stream, EngineFailure(kind: .internalError, message: text), resetting: .cancel)
                return part
            }
        }
        unsafe stream.sending.isCut = next.count == room.count && room.count < Self.frameSize && !next.isEnd
        (part.count, part.is_end, part.waits) = (next.count, next.isEnd, false)
        return part
    }

    /// Writes the next bytes of another protocol; `nil` if the stream has none.
    private func otherBytes(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart? {
        guard let upgrade = unsafe stream.upgrade, let connection = upgrade.connection else { return nil }
        let count = unsafe connection.fill(room)
        return HTTP2BodyPart(count: count, isEnd: upgrade.isLeaving && count < room.count)
    }

    private func copyBody(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
        let (bytes, start) = unsafe (stream.sending.bytes, stream.sending.start)
        let count = min(bytes.count - start, room.count)
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
        }
        unsafe stream.sending.start = start + count
        return HTTP2BodyPart(count: count, isEnd: start + count == bytes.count)
    }

    /// Asks the delegate for bytes of a body, and once more if it has told meanwhile that there are some.
    private func ask(_ stream: HTTP2Stream, _ room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
        unsafe stream.sending.isAsking = true
        defer { unsafe stream.sending.isAsking = false }
        while true {
            unsafe stream.sending.mustAskAgain = false
            let part = unsafe delegate.fillBody(of: stream, into: room)
            guard part.count == 0, !part.isEnd, unsafe stream.sending.mustAskAgain, stream.isActive else { return part }
        }
    }
}
