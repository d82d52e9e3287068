// Needed by libcurl before 8.1, and in part by every later one.
import CCurl

/// Checks of HTTP/2 connections and responses that libcurl reports incompletely or wrongly.
extension Transfer {
    /// Starts to watch the stream of a request that is about to be sent, for the first time or again.
    func watchStream() {
        guard options.mayBeHTTP2, let easy else { return }
        engine.mayHaveDeadConnections = true
        guard !LibcurlFeatures.current.saysHowStreamsEnd else { return }
        let hasStreams = options.version == .http2PriorKnowledge || easy.hasNegotiatedStreams
        receiving.log = hasStreams ? ConnectionLog() : nil
        easy.watchStream(hasStreams)
    }

    /// Returns whether the connection may have ended without a report by libcurl: libcurl has an error text or, before 8.1, data was
    /// received since `instant`.
    func mayBeDead(since instant: EngineInstant) -> Bool {
        guard pauses.applied & 1 == 0, let easy else { return false }
        return easy.hasWords || receiving.log != nil && times.last >= instant
    }

    /// Records an event of the connection that a line of libcurl's log reports.
    func receiveLog(_ line: UnsafeRawBufferPointer) {
        guard var log = receiving.log else { return }
        let meaning = unsafe log.note(line)
        receiving.log = log
        switch meaning {
        case .goAway:
            countWritten()
            engine.serverIsLeaving(self)
        case .isClosing:
            let written = writtenBytes
            receiving.log?.close(written: written)
        case .other: break
        }
    }

    /// Records the number of bytes sent so far, before more data of the server is read.
    func countWritten() {
        guard receiving.log != nil else { return }
        let written = writtenBytes
        receiving.log?.goOn(written: written)
    }

    /// The number of bytes that were sent over the connection so far; `nil` if the number cannot be known.
    private var writtenBytes: Int64? {
        guard let socket = easy?.socket, socket >= 0 else { return nil }
        let count = ccurl_socket_written(socket)
        return count >= 0 ? count : nil
    }

    /// Returns the failure of a response that libcurl before 8.1 wrongly reports as complete.
    func brokenStream() -> EngineFailure? {
        guard let log = receiving.log, !receiving.mustFinishEarly else { return nil }
        guard !log.isBroken else {
            let text = "the server violated the HTTP/2 protocol before the end of its response"
            return EngineFailure(kind: .http2, message: text)
        }
        guard unsafe parser.hasFinalHead else {
            return EngineFailure(kind: .http2, message: "the server closed the connection without a response")
        }
        guard let length = unsafe parser.contentLength, length != receiving.count else { return nil }
        guard let easy, !WireHead.hasNoBody(method: options.method, status: easy.statusCode) else { return nil }
        return EngineFailure(kind: .bodyCutShort, message: "only \(receiving.count) of \(length) bytes arrived")
    }

    /// The failure of a response whose stream was reset with HTTP_1_1_REQUIRED (RFC 9113, section 7). libcurl sends such a request again
    /// over HTTP/1.1, even in the middle of a response, and would join that response to the next one.
    static let answerWasReset = EngineFailure(
        kind: .http2, message: "the server reset the stream during its response: HTTP_1_1_REQUIRED")
}
