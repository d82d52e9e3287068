// Needed by libcurl of every version so far.
import CCurl

/// The handling of responses that arrive before the body of the request was sent. libcurl would wait for the rest of the body, which may
/// never be provided; this extension detects the end of such a response by other means.
extension Transfer {
    /// Stops sending the body, and drops its rest. The response continues, and the connection is not reused.
    package func stopSending() {
        guard isUploadUnderWay, !sending.isStopped else { return }
        sending.isStopped = true
        upload.discard()
        // While sending is paused, libcurl before 8.9 does not detect the end of a response.
        pauses.isSendingPaused = false
        engine.update(self)
    }

    /// Whether part of the body was not sent yet: not passed to libcurl, or still stored by it if the body was in memory.
    var isUploadUnderWay: Bool {
        switch options.body {
        case .none: false
        case .bytes: attempts > 0 && !hasSentRequest
        case .stream: sending.isStopped || !upload.isAtEnd
        }
    }

    /// Starts to watch for the end of a response whose final head was received.
    func watchForEarlyEnd(status: Int) {
        guard isUploadUnderWay else { return }
        // From status 300 on, libcurl itself gives up the body.
        if status < 300, unsafe parser.isHTTP1 && parser.hasTransferEncoding {
            receiving.chunks = ChunkScanner()
            easy?.watchRawBody()
        }
        if status >= 300, connection.hadStreams, !LibcurlFeatures.current.resetsGivenUpBodies,
            endsVisibly(status: status)
        {
            easy?.keepSending()
        }
        finishEarlyIfWhole()
    }

    /// Returns whether the response with this status ends with its head or with its last byte, and not only with its stream.
    private func endsVisibly(status: Int) -> Bool {
        unsafe WireHead.hasNoBody(method: options.method, status: status) || parser.contentLength != nil
    }

    /// Receives bytes of the body as they are on the wire, with the framing of their chunks.
    func receiveRaw(_ bytes: UnsafeRawBufferPointer) {
        guard var chunks = receiving.chunks, unsafe parser.hasFinalHead else { return }
        // Neither changed in place nor a copy: every read of the variable would have to check for exclusive access at run time.
        receiving.chunks = nil
        unsafe chunks.scan(bytes)
        receiving.chunks = chunks
        finishEarlyIfWhole()
    }

    /// Ends the transfer as soon as its response is complete.
    func finishEarlyIfWhole() {
        if case .none = options.body { return }
        guard unsafe parser.hasFinalHead, let easy else { return }
        guard WireHead.hasNoBody(method: options.method, status: easy.statusCode) || hasWholeBody else { return }
        if isUploadUnderWay { finishEarly() }
    }

    private func finishEarly() {
        receiving.mustFinishEarly = true
        engine.update(self)
    }

    private var hasWholeBody: Bool {
        if let chunks = receiving.chunks { return chunks.isAtEnd && chunks.payload <= receiving.count }
        guard let length = unsafe parser.contentLength, unsafe !parser.hasTransferEncoding else { return false }
        return length <= receiving.count
    }

    /// Ends the transfer if its response ended with the connection. Called when libcurl no longer reads from the socket: if only the
    /// request's body is paused, this means that the connection has ended.
    func libcurlStoppedReading() {
        guard pauses.applied == 4, wantedPause & 1 == 0, isUploadUnderWay, unsafe parser.hasFinalHead else { return }
        guard unsafe parser.isHTTP1, unsafe parser.contentLength == nil && !parser.hasTransferEncoding else { return }
        finishEarly()
    }

    /// Makes libcurl read from the connection after data was received. Before 8.1, libcurl leaves HTTP/2 data unread while sending is
    /// paused.
    func lookForAnswer() {
        guard pauses.isSendingPaused, !isCancelled else { return }
        pauses.isSendingPaused = false
        engine.update(self)
    }

    /// Returns whether a failure means a complete response. Before 8.1, libcurl treats a server that needs no more of the body (NO_ERROR
    /// after a response; RFC 9113, section 8.1) as a failure to send. That is the only failure of a stream for which libcurl has no error
    /// text. A response whose connection was broken at the same time may be incomplete.
    func isCleanEnd(_ code: CURLcode) -> Bool {
        guard isUploadUnderWay, code == CURLE_HTTP2_STREAM, !LibcurlFeatures.current.isAtLeast(8, 1),
            receiving.log?.isBroken != true
        else { return false }
        return unsafe parser.hasFinalHead && (parser.contentLength ?? 0) <= receiving.count && easy?.hasWords == false
    }
}
