import CCurl

/// What is made of HTTP/2 where libcurl does not say the whole truth.
extension Transfer {
    /// The request is about to go out, for the first time or once more.
    func watchStream() {
        guard options.mayBeHTTP2, let easy else { return }
        engine.mayHaveDeadConnections = true
        guard !LibcurlFeatures.current.saysHowStreamsEnd else { return }
        let hasStreams = options.version == .http2PriorKnowledge || easy.hasNegotiatedStreams
        log = hasStreams ? ConnectionLog() : nil
        easy.watchStream(hasStreams)
    }

    /// Its connection may have ended without libcurl's telling: there are words about a failure, or, before 8.1, something has
    /// come since then.
    func mayBeDead(since instant: EngineInstant) -> Bool {
        guard appliedPause & 1 == 0, let easy else { return false }
        return easy.hasWords || log != nil && activity.last >= instant
    }

    /// A line of libcurl's log.
    func receiveLog(_ line: UnsafeRawBufferPointer) {
        switch unsafe log?.note(line) {
        case .goAway:
            countWritten()
            engine.serverIsLeaving(self)
        case .isClosing: log?.close(written: writtenBytes)
        case .other, nil: break
        }
    }

    /// More of what the server sends is about to be read.
    func countWritten() { log?.goOn(written: writtenBytes) }

    /// The bytes that have been sent over the connection so far, where that can be known.
    private var writtenBytes: Int64? {
        guard let socket = easy?.socket, socket >= 0 else { return nil }
        let count = ccurl_socket_written(socket)
        return count >= 0 ? count : nil
    }

    /// Why an answer that libcurl before 8.1 calls whole is not.
    func brokenStream() -> EngineFailure? {
        guard let log, !mustFinishEarly else { return nil }
        guard !log.isBroken else {
            let text = "the server broke the rules of the protocol before the end of its answer"
            return EngineFailure(kind: .http2, message: text)
        }
        guard unsafe parser.hasFinalHead else {
            return EngineFailure(kind: .http2, message: "the server ended the connection without an answer")
        }
        guard let length = unsafe parser.contentLength, length != receivedBytes else { return nil }
        guard options.method != "HEAD", easy?.hasStatusWithoutBody == false else { return nil }
        return EngineFailure(kind: .bodyCutShort, message: "\(receivedBytes) of \(length) bytes came")
    }

    /// libcurl sends a request once more, over HTTP/1.1, wherever a stream is reset with HTTP_1_1_REQUIRED (RFC 9113, section 7):
    /// in the middle of an answer too, which would be joined to another.
    static let answerWasReset = EngineFailure(
        kind: .http2, message: "the server reset the stream in its answer: HTTP_1_1_REQUIRED")
}
