import CCurl

/// An answer that comes before the body of the request has gone. libcurl would wait for the rest of the body, which may
/// never come: here the end of such an answer is noticed by other means.
extension Transfer {
    /// Sends no more of the body: its rest is dropped. The answer goes on, and the connection is not used again.
    package func stopSending() {
        guard isUploadUnderWay, !isSendingStopped else { return }
        isSendingStopped = true
        upload.discard()
        // While sending is paused, versions before 8.9 do not see the end of an answer.
        isSendingPaused = false
        engine.update(self)
    }

    /// Part of a body that comes in chunks has not been handed on.
    var isUploadUnderWay: Bool {
        guard case .stream = options.body else { return false }
        return isSendingStopped || !upload.isAtEnd
    }

    /// The final head has come.
    func watchForEarlyEnd(status: Int) {
        guard isUploadUnderWay else { return }
        // From status 300 on libcurl gives up the body by itself.
        if status < 300, unsafe parser.isHTTP1 && parser.hasTransferEncoding {
            chunks = ChunkScanner()
            easy?.watchRawBody()
        }
        finishEarlyIfWhole()
    }

    /// Bytes of the body as they came, with the framing of their chunks.
    func receiveRaw(_ bytes: UnsafeRawBufferPointer) {
        guard chunks != nil, unsafe parser.hasFinalHead else { return }
        unsafe chunks?.scan(bytes)
        finishEarlyIfWhole()
    }

    /// Ends the transfer as soon as its answer is whole.
    func finishEarlyIfWhole() {
        guard isUploadUnderWay, unsafe parser.hasFinalHead, let easy else { return }
        guard options.method == "HEAD" || easy.hasStatusWithoutBody || hasWholeBody else { return }
        finishEarly()
    }

    private func finishEarly() {
        mustFinishEarly = true
        engine.update(self)
    }

    private var hasWholeBody: Bool {
        if let chunks { return chunks.isAtEnd && chunks.payload <= receivedBytes }
        guard let length = unsafe parser.contentLength, unsafe !parser.hasTransferEncoding else { return false }
        return length <= receivedBytes
    }

    /// libcurl no longer wants to read from the socket: where nothing is paused but the request's body, and the end of the
    /// connection is that of the answer, it has come.
    func libcurlStoppedReading() {
        guard appliedPause == 4, wantedPause & 1 == 0, isUploadUnderWay, unsafe parser.hasFinalHead else { return }
        guard unsafe parser.isHTTP1, unsafe parser.contentLength == nil && !parser.hasTransferEncoding else { return }
        finishEarly()
    }

    /// Before 8.1 libcurl leaves what comes over HTTP/2 where it is while sending is paused. When something has come, it is
    /// made to look.
    func lookForAnswer() {
        guard isSendingPaused, !isCancelled else { return }
        isSendingPaused = false
        engine.update(self)
    }

    /// Before 8.1 libcurl takes the server's wish for no more of the body, NO_ERROR behind an answer (RFC 9113, section 8.1),
    /// for a failure to send. That is the one failure of a stream that it has no words for.
    func isCleanEnd(_ code: CURLcode) -> Bool {
        guard isUploadUnderWay, code == CURLE_HTTP2_STREAM, !LibcurlFeatures.current.isAtLeast(8, 1) else {
            return false
        }
        return unsafe parser.hasFinalHead && (parser.contentLength ?? 0) <= receivedBytes && easy?.hasWords == false
    }
}
