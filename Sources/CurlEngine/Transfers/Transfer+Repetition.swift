import CCurl
private import Glibc

/// The repetition of a request. libcurl repeats a request if its reused connection dies before the first byte of the response, or if a
/// server has refused it. This extension decides whether libcurl may do so, and on which connection.
extension Transfer {
    /// The largest number of restarts, which equals the number of times that libcurl itself repeats a request.
    private static let maximumRestarts = 5

    /// Returns whether libcurl may send the request again, after it has sent the request or tried to. `false` means that the request must
    /// not be sent on the connection that libcurl has chosen, and not at all unless ``Transfer/mustStartAgain`` is set.
    func mayRepeat() -> Bool {
        guard unsafe !parser.hasFinalHead else {
            // The response was received; an objection of libcurl to that response is no reason to send the request again.
            failure = unsafe parser.isHTTP2 ? Self.answerWasReset : EngineFailure(kind: .head(.secondHead), message: "")
            return false
        }
        guard options.mayBeReplayed || isRefused || isUnsent else {
            failure = EngineFailure(kind: .replayRefused, message: "")
            return false
        }
        repetition.wasRefused = isRefused
        sending.hasPassedEnd = false
        guard !connection.hadStreams else { return true }
        if sending.hasBegun {
            failure = lossOfBody
        } else if connection.hasOpenedSocket {
            return true
        } else if !isUnsent, repetition.restarts >= Self.maximumRestarts {
            failure = EngineFailure(kind: .receive, message: "the connection failed \(repetition.restarts + 1) times")
        } else {
            // The connection was not checked after libcurl took it from its pool (see ``CurlEngine``).
            repetition.mustStartAgain = true
        }
        return false
    }

    /// The failure of a request whose connection was lost, or which was refused, after a part of the body was sent.
    var lossOfBody: EngineFailure {
        let text = isRefused ? "the server has refused the request" : EngineFailure.lossText(easy?.words ?? "")
        return EngineFailure(kind: .bodyNotReplayable, message: text, isUnprocessed: isRefused)
    }

    /// Whether libcurl has sent the request again, or may have begun to. libcurl begins with it when the connection ends before
    /// the response: it marks its handle, so that the body is sent from the start on the next connection, and clears the mark there.
    var mayHaveBeenRepeated: Bool {
        guard attempts == 1 else { return attempts > 1 }
        return unsafe connection.hasOpenedSocket || hasBody && !parser.hasFinalHead
    }

    private var hasBody: Bool { if case .none = options.body { false } else { true } }

    /// Returns whether the request may wait for a stream, after libcurl got no connection for it. libcurl itself may have sent the request
    /// before; then the request starts again from its beginning, or fails.
    func mayWaitForStream() -> Bool {
        guard attempts > 0 else { return true }
        if !options.mayBeReplayed, !isRefused {
            failure = EngineFailure(kind: .replayRefused, message: "")
        } else if sending.hasBegun {
            failure = lossOfBody
        } else if repetition.restarts >= Self.maximumRestarts {
            failure = EngineFailure(kind: .receive, message: "the connection failed \(repetition.restarts + 1) times")
        } else {
            prepareToStartAgain()
            return true
        }
        return false
    }

    /// Resets the state of the transfer to the beginning, before the transfer is passed to libcurl again.
    func prepareToStartAgain() {
        repetition.mustStartAgain = false
        repetition.restarts += 1
        // What prefers HTTP/3 may go over TCP again.
        if !isOnWire { isOnWire = options.isForWire }
        attempts = 0
        place.added = nil
        connection.hasOpenedSocket = false
        receiving.mustFinishEarly = false
        pauses.isSendingPaused = false
        sending.hasPassedEnd = false
        pauses.applied = 0
        receiving.chunks = nil
        repetition.refusal = StreamRefusal()
        repetition.wasRefused = false
    }

    /// Whether no byte of the request was passed to the system. For HTTP/2 the value is always `false`, because libcurl does not
    /// know whether bytes that it passed to its HTTP/2 library were sent.
    private var isUnsent: Bool { !connection.hadStreams && easy?.hasSentNothing == true }

    // MARK: Refused streams

    /// Whether the server has reported that it did not process the request.
    private var isRefused: Bool { repetition.refusal.isCertain || repetition.refusal.isBeyondLastStream }

    /// Returns whether the request waits for a stream before libcurl sends it again, because the server has refused its stream. libcurl
    /// would send it at once, on a new connection whose limit it does not know yet, where it might be refused again.
    func mustWaitAfterRefusal() -> Bool {
        guard repetition.refusal.isCertain, options.mayBeHTTP2, place.use == .streaming else { return false }
        engine.streams.wasRefused(self)
        return true
    }

    /// Records whether the connection carries streams, when the request is about to be sent.
    func noteStreams() {
        connection.hadStreams = options.isCertainlyHTTP2 || easy?.hasCertainlyNoStreams == false
        if connection.hadStreams, !options.mayBeReplayed { easy?.tellWhatHappens() }
    }

    /// Records the refusal of a stream that a line of libcurl's log reports.
    func readLog(_ line: UnsafeRawBufferPointer) {
        guard unsafe repetition.refusal.read(line) == .isBeingRepeated else { return }
        // libcurl 7.88 logs nothing else. But if libcurl has no error text and the connection is alive, the stream was refused. (For a
        // stream that was reset for another reason, and whose connection has ended, libcurl has no error text either.)
        guard !LibcurlFeatures.current.isAtLeast(8, 0), let easy, !easy.hasWords else { return }
        if isAlive(easy) { repetition.refusal.isCertain = true }
    }

    /// Returns whether it is certain that the peer has not ended the connection.
    private func isAlive(_ easy: EasyHandle) -> Bool {
        // libcurl has not named the socket if the attempt began and failed within one call.
        let isOpen = easy.socket >= 0 && ccurl_socket_is_open(easy.socket)
        guard options.url.isSecure else { return isOpen }
        return easy.isTLSOpen && (isOpen || easy.socket < 0)
    }

    /// Checks a request that libcurl has given up because of a GOAWAY, or because libcurl cannot rewind the body. If the server has not
    /// processed the request, either the transfer starts again and the result is `nil`, or the failure is marked as unprocessed.
    func considerRefusal(_ failure: EngineFailure) -> EngineFailure? {
        let isRewind = failure.code == Int(CURLE_SEND_FAIL_REWIND.rawValue)
        guard isRefused || (repetition.wasRefused && isRewind), unsafe !parser.hasFinalHead else { return failure }
        if !sending.hasBegun, repetition.restarts < Self.maximumRestarts {
            repetition.mustStartAgain = true
            return nil
        }
        return failure.unprocessed
    }
}

/// The second start of a transfer for whose connection there was no file descriptor.
extension Transfer {
    /// The source of the file descriptor for a transfer's connection.
    enum Descriptor {
        /// The system.
        case ofSystem
        /// The oldest idle connection of the engine, which libcurl closes first.
        case ofIdleConnection
        /// Idle connections of other engines in the process, which have been closed.
        case ofOtherEngine
    }

    /// Returns whether the transfer starts again because it got no file descriptor, once: idle connections are closed for it.
    func startsWithoutIdleConnection() -> Bool {
        guard repetition.descriptor == .ofSystem, failure == nil, attempts == 0, let easy,
            [EMFILE, ENFILE].contains(easy.errors.socket)
        else { return false }
        repetition.descriptor = engine.hasIdleConnection ? .ofIdleConnection : .ofOtherEngine
        return true
    }
}
