import CCurl

/// A request that goes out once more. libcurl repeats whatever dies on a kept connection before a byte of the answer has come, and
/// what a server has refused; here it is decided whether that may be, and on which connection.
extension Transfer {
    /// As many times libcurl repeats a request itself.
    private static let maximumRestarts = 5

    /// libcurl has sent the request, or tried to, and is about to do so again. `false`: not on the connection that it has chosen, and
    /// not at all unless the transfer ``Transfer/mustStartAgain``.
    func mayRepeat() -> Bool {
        guard unsafe !parser.hasFinalHead else {
            // The answer is there; what libcurl does not like about it is no reason to ask again.
            failure = unsafe parser.isHTTP2 ? Self.answerWasReset : EngineFailure(kind: .head(.secondHead), message: "")
            return false
        }
        guard options.mayBeReplayed || isRefused || isUnsent else {
            failure = EngineFailure(kind: .replayRefused, message: "")
            return false
        }
        wasRefused = isRefused
        // Nobody has looked at the connection since libcurl took it from its pool (see ``CurlEngine``).
        guard !hadStreams else { return true }
        if hasReadBody {
            failure = EngineFailure(kind: .bodyNotReplayable, message: "part of the body is gone")
        } else if !isUnsent, restarts >= Self.maximumRestarts {
            failure = EngineFailure(kind: .receive, message: "the connection died \(restarts + 1) times")
        } else {
            mustStartAgain = true
        }
        return false
    }

    /// Goes back to the beginning.
    func prepareToStartAgain() {
        mustStartAgain = false
        restarts += 1
        attempts = 0
        mustFinishEarly = false
        isSendingPaused = false
        appliedPause = 0
        chunks = nil
        refusal = StreamRefusal()
        wasRefused = false
    }

    /// Not a byte of the request has been handed to the system. What libcurl hands to its library for HTTP/2 it counts as sent or not
    /// sent without knowing.
    private var isUnsent: Bool { !hadStreams && easy?.hasSentNothing == true }

    // MARK: Refused streams

    /// The server has said that it did not process the request.
    private var isRefused: Bool { refusal.isCertain || refusal.isBeyondLastStream }

    /// The request is about to be sent.
    func noteStreams() {
        hadStreams = options.isCertainlyHTTP2 || easy?.hasNegotiatedStreams == true
        if hadStreams, !options.mayBeReplayed { easy?.tellWhatHappens() }
    }

    /// libcurl has something to say.
    func readLog(_ line: UnsafeRawBufferPointer) {
        guard unsafe refusal.read(line) == .isBeingRepeated else { return }
        // 7.88 says no more than that. But where it has no words for the failure, and the connection lives, the stream was refused.
        // (Of a stream that was reset otherwise, and whose connection has ended, it has no words either.)
        guard !LibcurlFeatures.current.isAtLeast(8, 0), let easy, !easy.hasWords else { return }
        if isAlive(easy) { refusal.isCertain = true }
    }

    /// It is certain that the peer has not ended the connection.
    private func isAlive(_ easy: EasyHandle) -> Bool {
        // libcurl has not named the socket where all of this has happened within one call.
        let isOpen = easy.socket >= 0 && ccurl_socket_is_open(easy.socket)
        guard options.url.scheme == "https" else { return isOpen }
        return easy.isTLSOpen && (isOpen || easy.socket < 0)
    }

    /// libcurl has given the request up, because of a GOAWAY or because it cannot go back to the beginning of the body: where the
    /// server has not processed it, it goes out again, or the failure says so.
    func considerRefusal(_ failure: EngineFailure) -> EngineFailure? {
        let isRewind = failure.code == Int(CURLE_SEND_FAIL_REWIND.rawValue)
        guard isRefused || (wasRefused && isRewind), unsafe !parser.hasFinalHead else { return failure }
        if !hasReadBody, restarts < Self.maximumRestarts {
            mustStartAgain = true
            return nil
        }
        var failure = failure
        failure.isUnprocessed = true
        return failure
    }
}
