/// A request that libcurl sends, and its response.
///
/// A transfer belongs to the engine thread.
package final class Transfer: @unchecked Sendable {
    // Unchecked: every member is only accessed on the engine thread. `CurlEngine`, which creates all transfers, is called only there, and
    // so are libcurl's callbacks.
    let engine: CurlEngine
    let options: TransferOptions
    /// The receiver of the transfer's events, until the end or the cancellation, which break a reference cycle. A weak reference would slow
    /// down every other reference to the receiver.
    var delegate: (any TransferDelegate)?
    /// The easy handle while the transfer is in libcurl.
    var easy: EasyHandle?
    // Exclusivity is unchecked: one thread uses the parser, and no call of the parser runs inside another one.
    @exclusivity(unchecked) var parser: HeadParser
    var upload = UploadBuffer()
    /// The lines behind a chunked body, without line ends.
    var trailerLines: [[CChar]] = []
    /// Whether the delegate was asked for more of the body and has sent none since.
    var hasAskedForBody = false
    /// The number of times that libcurl was about to send the request since the transfer was passed to it. A number above one means that
    /// libcurl itself has repeated the request.
    var attempts = 0
    /// The number of times that the transfer was passed to libcurl again.
    var restarts = 0
    /// Whether the transfer is to be passed to libcurl again, from the beginning.
    var mustStartAgain = false
    /// The refusal of the stream, if libcurl's log is read and reports one.
    var refusal = StreamRefusal()
    /// Whether the previous attempt was refused.
    var wasRefused = false
    /// Whether the connection of the last attempt carries streams.
    var hadStreams = false
    /// The local port of that connection; 0 or less if it has none.
    var localPort: Int32 = 0
    /// Whether bytes of the body were passed to libcurl. The bytes of a body in memory do not count, because libcurl itself
    /// stores them.
    var hasReadBody = false
    /// Whether libcurl was told of the end of a streamed body.
    var hasPassedEnd = false
    /// The reason because of which a callback gave up the transfer. It takes precedence over libcurl's own result.
    var failure: EngineFailure?
    /// The progress of the lookup of the host's name, if the transfer leads or waits in the ``LookupGate``.
    var lookup = LookupGate.Progress.none
    /// Whether the transfer leads the lookup for all engines of the session.
    var hasClaimedName = false
    /// The part of the ``StreamGate`` that the transfer is in.
    var streamUse = StreamGate.Use.none
    /// The local port of the connection on which the transfer has a stream.
    var streamPort: Int32 = 0
    /// The number of the transfer in the order of arrival at the ``StreamGate``; 0 if it has none.
    var streamTicket = 0
    /// The instant up to which a limit kept the transfer waiting for a stream; `nil` if none did.
    var waitEnd: EngineInstant?
    /// The state with regard to a connection of the transfer's own.
    var ownConnection = OwnConnection.unneeded
    /// Whether a socket was opened for the transfer since it was last about to be sent, so that its connection is new.
    var hasOpenedSocket = false
    /// Whether a connection was made for the transfer, in any attempt.
    var hasMadeConnection = false
    /// The source of the file descriptor for the transfer's connection.
    var descriptor = Descriptor.ofSystem
    /// The number of requests for a tunnel, if they are counted.
    var tunnelRequests = 0
    /// The number of requests for a tunnel that the proxy has refused, if libcurl does not make the proofs for them.
    var tunnelRefusals = 0
    /// The proof of the last request for a tunnel; `nil` if it had none, or libcurl has made it.
    var tunnelProof: TunnelProof?
    /// The challenges in the response to the last request for a tunnel, if libcurl does not answer them.
    var tunnelChallenges: [String] = []
    /// Whether libcurl was not allowed to open a connection, so that the transfer waits for a stream.
    var mustWaitForStream = false
    /// The connection that was opened for the transfer beside others, if any.
    package var addedConnection: AddedConnection?
    /// Whether the delegate gets no more events.
    var isCancelled = false
    /// Whether the framework has paused receiving.
    var isReceivingPaused = false
    /// Whether the limit of decoded bytes in a turn of the loop was reached, so that the transfer waits for its turn to decode
    /// (``DecodingTurns``).
    var isYielding = false
    /// Whether libcurl's sending is paused until more of the body is provided.
    var isSendingPaused = false
    /// Whether the framework has paused both directions.
    var isSuspended = false
    /// Whether the framework has paused sending.
    var isSendingHeld = false
    /// Whether the rest of the body is dropped.
    var isSendingStopped = false
    /// The pause bits that were last passed to libcurl.
    var appliedPause: Int32 = 0
    /// Whether the engine lists the transfer among the changed ones.
    var isDeferred = false
    /// Whether the transfer ends now, because its response is complete before the request's body.
    var mustFinishEarly = false
    /// The scanner for the end of an early response, if that response is chunked.
    var chunks: ChunkScanner?
    /// The state of an HTTP/2 connection according to libcurl's log, if libcurl does not report that state otherwise.
    var log: ConnectionLog?
    /// The decoder of the response body, if the body has content codings.
    var decoder: ContentDecoder?
    /// The end of the transfer, if libcurl finished before the reader had taken all decoded bytes.
    var heldEnd: TransferEnd?
    /// The exchange on a connection that libcurl has only made; `nil` before that, and for every other transfer.
    var handshake: SwitchHandshake?
    /// The number of body bytes received, before decoding.
    var receivedBytes: Int64 = 0
    /// The number of bytes of a streamed body that libcurl has taken.
    var takenBytes: Int64 = 0
    /// Whether a lookup that has not ended was reported.
    var isLookupReported = false
    /// The state of the report that the request was sent; other than `none` if the connection of the transfer is observed.
    var sendingReport = SendingReport.none
    /// Whether the sending of the head is reported for the connection, or does not have to be.
    var isHeadReported = true
    /// The instant at which libcurl was last about to send the request.
    var start: EngineInstant
    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    var activity: (last: EngineInstant, lastSend: EngineInstant)

    init(engine: CurlEngine, options: TransferOptions, now: EngineInstant) {
        self.engine = engine
        self.options = options
        unsafe parser = HeadParser(
            limit: options.maximumHeaderBytes, switchesProtocols: options.switchesProtocols)
        start = now
        activity = (now, now)
    }

    // MARK: Control

    /// Ends the transfer and closes its connection (over HTTP/2 and HTTP/3, its stream). The delegate gets no more events.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        delegate = nil
        upload.discard()
        handshake?.abandon()
        engine.update(self)
    }

    /// Releases all resources because the engine ends.
    func abandon() {
        isCancelled = true
        delegate = nil
        easy = nil
        upload.discard()
        handshake?.abandon()
        handshake = nil
    }

    /// Pauses or resumes receiving. A few bytes may still arrive after a pause.
    package func pauseReceiving(_ isPaused: Bool) {
        guard isReceivingPaused != isPaused else { return }
        isReceivingPaused = isPaused
        engine.update(self)
    }

    /// Pauses or resumes both directions.
    package func suspend(_ isSuspended: Bool) {
        guard self.isSuspended != isSuspended else { return }
        self.isSuspended = isSuspended
        if !isSuspended { activity.last = engine.now }
        engine.update(self)
    }

    /// Whether no byte of the body may be sent now.
    var isHeldBack: Bool { isSuspended || (isSendingHeld && !isSendingStopped) }

    /// Whether the engine has taken the connection of the transfer from libcurl.
    var hasTakenConnection: Bool { handshake?.takenReport != nil }

    /// Whether the transfer is in libcurl, or has a connection that the engine has taken from it.
    var isUnderWay: Bool { easy != nil || hasTakenConnection }

    /// Whether the response was received over HTTP/1.
    var isHTTP1: Bool { unsafe parser.isHTTP1 }

    /// The pause bits for `curl_easy_pause`, which sets both directions at once.
    ///
    /// Receiving alone is not paused before the head was received: libcurl 7.88 would continue reading, and deliver the lines of the head
    /// as one.
    var wantedPause: Int32 {
        let holdsBody = unsafe (isReceivingPaused || isYielding) && parser.hasFinalHead
        return (holdsBody || isSuspended ? 1 : 0) | (isSendingPaused || isHeldBack ? 4 : 0)
    }

    /// The number of body bytes received, before decoding.
    package var receivedCount: Int64 { receivedBytes }

    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    package var times: (last: EngineInstant, lastSend: EngineInstant) {
        unsafe (max(activity.last, parser.lastLine), activity.lastSend)
    }

    /// Whether other transfers can have streams on the transfer's connection, as soon as there is a connection.
    package var sharesConnection: Bool {
        switch options.version {
        case .http1: false
        case .http2Only, .http2PriorKnowledge, .http3Only: true
        case .http2OverTLS, .http3WithFallback: hadStreams && attempts > 0 && easy != nil
        }
    }

    /// The reason why the transfer is not connected yet: a lookup, or a wait for a stream; `nil` if neither is the reason.
    package var reasonForWaiting: String? { engine.reasonForWaiting(self) }

    /// The instant from which the connecting counts, which is now while the transfer waits for a stream on a connection of others; `nil` if
    /// the transfer has not waited.
    package var connectStart: EngineInstant? { engine.streams.connectStart(self) }

    /// The present measurements of libcurl, for errors that libcurl does not report.
    package var measurements: TransferReport {
        guard let report = handshake?.takenReport ?? easy?.report(of: self) else { return TransferReport() }
        return handshake?.completed(report) ?? report
    }
}

/// Two transfers are equal if they are the same object.
extension Transfer: Hashable {
    package static func == (left: Transfer, right: Transfer) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
