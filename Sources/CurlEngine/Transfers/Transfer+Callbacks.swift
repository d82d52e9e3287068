import CCurl

/// The handlers of libcurl's callbacks. They return the values that libcurl expects.
extension Transfer {
    /// The result that makes libcurl end the transfer.
    private static let abort = 0

    /// Receives one header line. Any result other than the length of the line makes libcurl end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        guard !isCancelled else { return Self.abort }
        activity.last = engine.now
        do throws(HeadFailure) {
            switch try unsafe parser.parse(line) {
            case .more: break
            case .informational:
                if place.use == .streaming { engine.streams.isAnswered(self) }
                unsafe delegate?.transferDidReceiveInformational(parser.takeHead())
            case .final:
                if place.use == .streaming { engine.streams.isAnswered(self) }
                // With a TLS library that does not tell the result of its handshake.
                guard options.version != .http2Only || !isHTTP1 else {
                    failure = Self.noHTTP2
                    return Self.abort
                }
                if unsafe parser.hasTransferEncoding, unsafe parser.contentLength != nil { easy?.closeAfterwards() }
                if !connection.hasBeenMade { easy?.keepAddresses(true) }
                let head = unsafe parser.takeHead()
                if reports.sending == .checked { reportSentBeforeAnswer() }
                delegate?.transferDidReceiveHead(head)
                watchForEarlyEnd(status: head.status)
            }
        } catch {
            failure = rejection(error)
            return Self.abort
        }
        return isCancelled ? Self.abort : line.count
    }

    /// Receives bytes of the body. Any result other than their number or a pause makes libcurl end the transfer.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !isCancelled else { return Self.abort }
        activity.last = engine.now
        guard unsafe parser.hasFinalHead else {
            failure = EngineFailure(kind: .head(.cutShort), message: "")
            return Self.abort
        }
        // libcurl stores these bytes until the reader has made room.
        if pauses.isSuspended || pauses.isReceivingPaused || pauses.isYielding, mayPauseNow {
            pauses.applied |= 1
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        if receiving.count == 0, bytes.count > 0, !prepareDecoding() { return Self.abort }
        receiving.count += Int64(bytes.count)
        if receiving.log?.hasGoAway == true { countWritten() }
        if let decoder = receiving.decoder {
            guard unsafe decode(bytes.bytes, with: decoder) else { return Self.abort }
        } else {
            unsafe delegate?.transferDidReceiveBody(bytes.bytes)
        }
        finishEarlyIfWhole()
        return isCancelled ? Self.abort : bytes.count
    }

    /// Whether the transfer may be paused. Over HTTP/1, a pause must wait until libcurl has named the socket: if a transfer was
    /// paused in the call in which it took a reused connection, that connection would look like an idle one.
    private var mayPauseNow: Bool {
        guard let easy else { return true }
        return unsafe easy.socket >= 0 || !parser.isHTTP1
    }

    /// Whether libcurl has looked up all addresses of the host. Only if the transfer has opened a socket, or is about to.
    var hasCompleteLookup: Bool {
        guard LibcurlFeatures.current.connectsDuringLookup, let curl = unsafe easy?.curl else { return true }
        return unsafe ccurl_get_offset(curl, CURLINFO_NAMELOOKUP_TIME_T) > 0
    }

    /// Returns whether libcurl may open a socket for the transfer. libcurl has an address of the host then.
    func mayOpenSocket() -> Bool {
        if lookup == .leading { engine.leaderOpensSocket(self) }
        // libcurl may try several addresses for one connection.
        let isFirst = !connection.hasOpenedSocket
        connection.hasOpenedSocket = true
        guard !isCancelled, !place.mustWait, failure == nil else { return false }
        // Only a probe makes the connection, while the request can still go over TCP.
        guard options.version != .http3WithFallback else {
            loseHTTP3Connection()
            return false
        }
        guard options.mayConnect else {
            failure = EngineFailure(kind: wasSentOnce ? .replayRefused : .connectLimit, message: "")
            return false
        }
        if !mustWaitAfterRefusal(), engine.streams.mayConnect(self) {
            if isFirst { engine.makeRoomForConnection(for: self) }
            return true
        }
        place.mustWait = true
        return false
    }

    /// Prepares the transfer when the request is about to be sent. Returns libcurl's code to continue or to abort.
    ///
    /// - Parameter port: The local port of the connection; 0 or less if it has none.
    func isConnected(from port: Int32) -> Int32 {
        // Without a socket of its own, the transfer uses an existing connection. Otherwise its lookup was incomplete before, and libcurl
        // ends it when the transfer is connected.
        if lookup == .leading { engine.lookupDidEnd(self, isResolved: connection.hasOpenedSocket && hasCompleteLookup) }
        guard !isCancelled else { return CURL_PREREQFUNC_ABORT }
        if connection.http3.isProbe { return probeIsConnected(from: port) }
        let isEnded = engine.hasEnded(port: port) && repetition.restarts < Self.maximumReplacements
        let mayReplace = repetition.restarts < Self.maximumReplacements
        if attempts == 0, !connection.hasOpenedSocket, isEnded || lacksChain(port: port) || lacksStreams && mayReplace {
            // libcurl does not check connections that were used a moment ago, and does not know which ones have a chain. It takes a
            // connection that was made for HTTP/1.1 for a request that may use HTTP/2.
            if place.ownConnection != .wanted { easy?.closeAfterwards() }
            repetition.mustStartAgain = true
            return CURL_PREREQFUNC_ABORT
        }
        if mustWaitAfterRefusal() {
            place.mustWait = true
            return CURL_PREREQFUNC_ABORT
        }
        guard !lacksStreams else {
            failure = Self.noHTTP2
            return CURL_PREREQFUNC_ABORT
        }
        attempts += 1
        guard attempts == 1 || mayRepeat(), acceptsCertificates() else { return CURL_PREREQFUNC_ABORT }
        // The refusal of the previous attempt does not apply to this one.
        repetition.refusal = StreamRefusal()
        connection.localPort = port
        if options.url.isSecure { connection.tls = unsafe TLSResult(of: easy?.tlsSession).map(Boxed.init) }
        if connection.hasOpenedSocket {
            connection.hasBeenMade = true
            engine.didMakeConnection(for: self)
        }
        start = engine.now
        activity = (start, start)
        if options.mayBeHTTP2 {
            noteStreams()
            engine.streams.isConnected(self)
        }
        connection.hasOpenedSocket = false
        easy?.isConnected(for: options)
        watchStream()
        if wantedPause != 0 {
            // libcurl has ignored pauses that were set before there was a connection.
            pauses.applied = 0
            engine.update(self)
        }
        delegate?.transferIsConnected()
        return CURL_PREREQFUNC_OK
    }

    /// The failure of a request that demands HTTP/2, before anything of it is sent.
    private static let noHTTP2 = EngineFailure(
        kind: .http2NotAgreed, message: "the server has not agreed on HTTP/2 in the TLS handshake (ALPN)")

    /// Whether the transfer demands HTTP/2, and its connection has another version.
    private var lacksStreams: Bool { options.version == .http2Only && easy?.hasCertainlyNoStreams == true }

    /// The largest number of connections without a chain that are closed for one transfer. Several may be idle.
    private static let maximumReplacements = 64

    /// Returns whether the transfer reads certificates, and its connection has no chain of them, because an earlier transfer has resumed a
    /// TLS session there. A connection that other transfers use stays, and the transfer tries once to get one of its own.
    private func lacksChain(port: Int32) -> Bool {
        guard options.readsCertificates, repetition.restarts < Self.maximumReplacements, easy?.hasResumedSession == true
        else {
            return false
        }
        guard engine.streams.isUsed(port: port) == true else { return true }
        guard place.ownConnection == .unneeded else { return false }
        place.ownConnection = .wanted
        return true
    }

    /// Delivers the certificates of the connection to the delegate. Returns `false` if the delegate has cancelled the transfer; the
    /// connection is then closed, unless other transfers have streams on it.
    private func acceptsCertificates() -> Bool {
        guard options.readsCertificates else { return true }
        delegate?.transferDidReceiveCertificates(easy?.chain)
        guard isCancelled else { return true }
        easy?.closeAfterwards()
        return false
    }

    /// Returns the end of the transfer for libcurl's result.
    func end(_ code: CURLcode) -> TransferEnd {
        if code != CURLE_OK, startsWithoutIdleConnection() { repetition.mustStartAgain = true }
        if reports.sending == .checked, !repetition.mustStartAgain { reportSentBeforeAnswer() }
        let report = measurements
        var cause = failure
        if cause == nil, code != CURLE_OK, !repetition.mustStartAgain, !isCleanEnd(code) {
            cause = considerRefusal(
                clarify(easy?.failure(code, isSent: attempts > 0) ?? EngineFailure(code, detail: "")))
            cause = considerChallenge(cause)
        }
        if cause == nil, code == CURLE_OK { cause = brokenStream() }
        if cause == nil, !isHeldUp { cause = finishDecoding() }
        if cause == nil, unsafe !parser.hasFinalHead { cause = EngineFailure(kind: .head(.cutShort), message: "") }
        return unsafe TransferEnd(failure: cause, trailers: parser.trailers, report: report)
    }

    /// Whether the request was passed to libcurl for sending, and must not be sent a second time.
    private var wasSentOnce: Bool { attempts > 0 && !options.mayBeReplayed }

    /// Returns the failure with the kind that fits the progress of the exchange, because libcurl uses the same code for different failures.
    private func clarify(_ failure: EngineFailure) -> EngineFailure {
        let (hasHead, isHTTP2) = unsafe (parser.hasFinalHead, parser.isHTTP2)
        return switch failure.kind {
        // The request was sent again, or would have been.
        case .bodyNotReplayable where hasHead, .connect where hasHead, .nameResolution where hasHead,
            .tlsHandshake where hasHead, .untrusted where hasHead, .proxy where hasHead:
            Self.answerWasReset
        // libcurl only assumes that the server has ended the connection.
        case .emptyReply where receiving.log != nil && failure.code == Int(CURLE_GOT_NOTHING.rawValue):
            brokenStream() ?? failure
        case .bodyCutShort where !hasHead: failure.as(.emptyReply)
        case .emptyReply where hasHead: failure.as(.bodyCutShort)
        case .send where attempts == 0, .receive where attempts == 0: failure.as(.connect)
        case .receive where hasHead && isHTTP2: failure.as(.http2)
        // libcurl would have sent the request again, which is not allowed.
        case .bodyNotReplayable where !options.mayBeReplayed: failure.as(.replayRefused)
        // The request was sent on a reused connection that died, and the connection for sending it again could not be made.
        case .connect where wasSentOnce, .nameResolution where wasSentOnce, .tlsHandshake where wasSentOnce,
            .proxy where wasSentOnce, .untrusted where wasSentOnce, .tlsVersion where wasSentOnce,
            .clientCertificate where wasSentOnce && easy?.handshake?.isComplete == false:
            failure.as(.replayRefused)
        // The arguments of the request were valid if the request was sent, so the response must be the cause.
        case .internalError where attempts > 0 && failure.code == Int(CURLE_BAD_FUNCTION_ARGUMENT.rawValue):
            failure.as(.malformedResponse)
        case .outOfMemory where !hasHead, .tooLarge where !hasHead:
            failure.as(.head(.tooLarge(limit: options.maximumHeaderBytes)))
        default: failure
        }
    }

    // MARK: HTTP/3 in a race with TCP

    /// Records that the probe of a race has a connection, on which it sends nothing. Returns libcurl's code to abort.
    func probeIsConnected(from port: Int32) -> Int32 {
        (connection.localPort, connection.hadStreams, connection.http3.isConnected) = (port, true, true)
        attempts += 1
        if connection.hasOpenedSocket {
            connection.hasBeenMade = true
            engine.didMakeConnection(for: self)
        }
        engine.streams.isConnected(self)
        connection.hasOpenedSocket = false
        return CURL_PREREQFUNC_ABORT
    }

    /// Ends the way of a transfer over HTTP/3, because its connection is gone. It enters a race again, unless something was sent that must
    /// not be repeated.
    func loseHTTP3Connection() {
        engine.http3.forget(self)
        if attempts > 0, !options.mayBeReplayed {
            failure = EngineFailure(kind: .replayRefused, message: "")
        } else if sending.hasBegun {
            failure = lossOfBody
        } else {
            repetition.mustStartAgain = true
        }
    }
}
