/// A request that libcurl or the engine itself sends, and its response.
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
    var pauses = TransferPauses()
    var tunnel = TunnelRequests()
    var reports = StepReports()
    var place = StreamPlace()
    /// Whether the engine serves the transfer without libcurl.
    var isOnWire: Bool {
        didSet { if oldValue, !isOnWire { unsafe parser = HeadParser(limit: options.maximumHeaderBytes) } }
    }
    var connection = TransferConnection()
    var repetition = TransferRepetition()
    var sending = BodySending()
    var receiving = BodyReceiving()
    // Exclusivity is unchecked: one thread uses the parser, and no call of the parser runs inside another one.
    @exclusivity(unchecked) var parser: HeadParser
    var upload = UploadBuffer()
    /// The number of times that libcurl was about to send the request since the transfer was passed to it. A number above one means that
    /// libcurl itself has repeated the request.
    var attempts = 0
    /// The reason why a callback gave up the transfer. It takes precedence over libcurl's own result.
    var failure: EngineFailure?
    /// The progress of the lookup of the host's name, if the transfer leads or waits in the ``LookupGate``.
    var lookup = LookupGate.Progress.none
    /// Whether the transfer leads the lookup for all engines of the session.
    var hasClaimedName = false
    /// Whether the delegate gets no more events.
    var isCancelled = false
    /// Whether the engine lists the transfer among the changed ones.
    var isDeferred = false
    /// The instant at which libcurl was last about to send the request.
    var start: EngineInstant
    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    var activity: (last: EngineInstant, lastSend: EngineInstant)

    init(engine: CurlEngine, options: TransferOptions, now: EngineInstant) {
        self.engine = engine
        self.options = options
        let isOnWire = options.isForWire
        self.isOnWire = isOnWire
        unsafe parser =
            isOnWire
            ? HeadParser()
            : HeadParser(limit: options.maximumHeaderBytes)
        start = now
        activity = (now, now)
    }

    /// The progress without libcurl. Not changed in place: every read of the connection's variable would have to check for exclusive access
    /// at run time. Changes of single values are made in ``connection``.
    var wire: WireProgress {
        get { connection.wire }
        set { connection.wire = newValue }
    }

    // MARK: Control

    /// Ends the transfer and closes its connection (over HTTP/2 and HTTP/3, its stream). The delegate gets no more events.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        delegate = nil
        upload.discard()
        connection.switched?.end(with: ConnectionClosed())
        engine.update(self)
    }

    /// Releases all resources because the engine ends.
    func abandon() {
        isCancelled = true
        delegate = nil
        easy = nil
        wire = WireProgress()
        connection.http3 = HTTP3Progress()
        upload.discard()
        connection.switched?.end(with: ConnectionClosed())
        // The connection and the transfer refer to each other.
        connection.switched = nil
    }

    /// Pauses or resumes receiving. A few bytes may still arrive after a pause.
    package func pauseReceiving(_ isPaused: Bool) {
        guard pauses.isReceivingPaused != isPaused else { return }
        pauses.isReceivingPaused = isPaused
        engine.update(self)
    }

    /// Pauses or resumes both directions.
    package func suspend(_ isSuspended: Bool) {
        guard pauses.isSuspended != isSuspended else { return }
        pauses.isSuspended = isSuspended
        if !isSuspended { activity.last = engine.now }
        engine.update(self)
    }

    /// Whether no byte of the body may be sent now.
    var isHeldBack: Bool { pauses.isSuspended || (pauses.isSendingHeld && !sending.isStopped) }

    /// Whether the transfer is in libcurl, or on the way without it.
    var isUnderWay: Bool { easy != nil || wire.isUnderWay }

    /// Whether the response was received over HTTP/1.
    var isHTTP1: Bool { unsafe isOnWire || parser.isHTTP1 }

    /// The pause bits for `curl_easy_pause`, which sets both directions at once.
    ///
    /// Receiving alone is not paused before the head was received: libcurl 7.88 would continue reading, and deliver the lines of the head
    /// as one.
    var wantedPause: Int32 {
        let holdsBody = unsafe (pauses.isReceivingPaused || pauses.isYielding) && parser.hasFinalHead
        return (holdsBody || pauses.isSuspended ? 1 : 0) | (pauses.isSendingPaused || isHeldBack ? 4 : 0)
    }

    /// The connection that was opened for the transfer beside others, if any.
    package var addedConnection: AddedConnection? { place.added }

    /// The number of the stream on an HTTP/2 connection of the engine's own, if there is one.
    package var streamNumber: Int? { wire.stream.map { Int($0.number) } }

    /// The number of body bytes received, before decoding.
    package var receivedCount: Int64 { receiving.count }

    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    package var times: (last: EngineInstant, lastSend: EngineInstant) {
        unsafe (max(activity.last, parser.lastLine), activity.lastSend)
    }

    /// Whether other transfers can have streams on the transfer's connection, as soon as there is a connection.
    package var sharesConnection: Bool {
        switch options.version {
        case .http1: false
        case .http2Only, .http2PriorKnowledge, .http3Only: true
        case .http2OverTLS, .http3WithFallback:
            connection.hadStreams && attempts > 0 && (easy != nil || wire.http2 != nil)
        }
    }

    /// The reason why the transfer is not connected yet: a lookup, or a wait for a stream; `nil` if neither is the reason.
    package var reasonForWaiting: String? { engine.reasonForWaiting(self) }

    /// The instant from which the connecting counts, which is now while the transfer waits for a stream on a connection of others; `nil` if
    /// the transfer has not waited.
    package var connectStart: EngineInstant? {
        engine.wire.waitsForStream(self) ? engine.now : engine.streams.connectStart(self)
    }

    /// The present measurements of libcurl, for errors that libcurl does not report.
    package var measurements: TransferReport {
        if isOnWire { return TransferReport(onWire: self) }
        var report = easy?.report(of: self) ?? TransferReport()
        connection.http3.complete(&report)
        return report
    }
}

/// Two transfers are equal if they are the same object.
extension Transfer: Hashable {
    package static func == (left: Transfer, right: Transfer) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
