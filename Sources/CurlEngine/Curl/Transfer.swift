/// A request on its way through libcurl, and its response on the way back.
///
/// A transfer belongs to the engine thread.
package final class Transfer: @unchecked Sendable {
    // Unchecked: every member is only touched on the engine thread; `CurlEngine`, the sole source of transfers, is entered
    // there only, and so are libcurl's callbacks.
    let engine: CurlEngine
    let options: TransferOptions
    /// The receiver of the transfer's events, until the end or the cancellation, which break the reference cycle. A weak
    /// reference would slow down every other reference to the delegate.
    var delegate: (any TransferDelegate)?
    /// The easy handle while the transfer is in libcurl.
    var easy: EasyHandle?
    // Exclusivity is unchecked: one thread uses the parser, and no call of the parser runs inside another.
    @exclusivity(unchecked) var parser: HeadParser
    var upload = UploadBuffer()
    /// Indicates whether the delegate was asked for more of the body and has sent none since.
    var hasAskedForBody = false
    /// The number of times that libcurl was about to send the request since the transfer was handed over; more than one means a
    /// repetition of libcurl's own.
    var attempts = 0
    /// The number of times that the transfer was handed to libcurl again.
    var restarts = 0
    /// Indicates whether the transfer is to be handed to libcurl once more, from the beginning.
    var mustStartAgain = false
    /// The refusal of the stream, where libcurl's log is read and tells of one.
    var refusal = StreamRefusal()
    /// Indicates whether the previous attempt was refused.
    var wasRefused = false
    /// Indicates whether the connection of the last attempt carries streams.
    var hadStreams = false
    /// The local port of that connection; 0 or less where it has none.
    var localPort: Int32 = 0
    /// Indicates whether bytes of the body have been handed to libcurl. libcurl holds a body in memory itself, so that its bytes
    /// do not count.
    var hasReadBody = false
    /// The reason why a callback gave up the transfer; takes precedence over libcurl's own result.
    var failure: EngineFailure?
    /// Indicates whether the delegate gets no more events.
    var isCancelled = false
    /// Indicates whether the framework has paused receiving.
    var isReceivingPaused = false
    /// Indicates whether enough was decoded in this turn of the loop; the next turn goes on.
    var isYielding = false
    /// The turn in which bytes were decoded last.
    var decodedTurn = EngineInstant(nanoseconds: 0)
    /// The number of bytes that were decoded in that turn.
    var decodedBytes = 0
    /// Indicates whether libcurl's sending is paused until more of the body comes.
    var isSendingPaused = false
    /// Indicates whether the framework has paused both directions.
    var isSuspended = false
    /// Indicates whether the framework has paused sending.
    var isSendingHeld = false
    /// Indicates whether the rest of the body is dropped.
    var isSendingStopped = false
    /// The pause bits that libcurl was told last.
    var appliedPause: Int32 = 0
    /// Indicates whether the engine lists the transfer among the changed ones.
    var isDeferred = false
    /// Indicates whether the transfer ends now, because its response is complete before the request's body.
    var mustFinishEarly = false
    /// The scanner for the end of an early response, where that response is chunked.
    var chunks: ChunkScanner?
    /// The state of an HTTP/2 connection according to libcurl's log, where libcurl reports that state in no other way.
    var log: ConnectionLog?
    /// The decoder of the response body, where the body has content codings.
    var decoder: ContentDecoder?
    /// The end of the transfer, where libcurl finished while decoded bytes waited for their reader.
    var heldEnd: TransferEnd?
    /// The number of body bytes received, before decoding.
    package var receivedBytes: Int64 = 0
    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    var activity: (last: EngineInstant, lastSend: EngineInstant)

    init(engine: CurlEngine, options: TransferOptions, delegate: any TransferDelegate, now: EngineInstant) {
        self.engine = engine
        self.options = options
        self.delegate = delegate
        unsafe parser = HeadParser(limit: options.maximumHeaderBytes)
        activity = (now, now)
    }

    // MARK: Control

    /// Ends the transfer and closes its connection (HTTP/2 and 3: its stream). The delegate gets no more events.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        delegate = nil
        upload.discard()
        engine.update(self)
    }

    /// Releases all resources, because the engine ends.
    func abandon() {
        isCancelled = true
        delegate = nil
        easy = nil
        upload.discard()
    }

    /// Pauses or resumes receiving. A few bytes may still come after a pause.
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

    /// Indicates whether no byte of the body may go out now.
    var isHeldBack: Bool { isSuspended || (isSendingHeld && !isSendingStopped) }

    /// The pause bits for `curl_easy_pause`, which sets both directions at once.
    ///
    /// Receiving alone is not paused before the head: libcurl 7.88 would go on reading there, and deliver the lines of the head
    /// as one.
    var wantedPause: Int32 {
        let holdsBody = unsafe (isReceivingPaused || isYielding) && parser.hasFinalHead
        return (holdsBody || isSuspended ? 1 : 0) | (isSendingPaused || isHeldBack ? 4 : 0)
    }

    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    package var times: (last: EngineInstant, lastSend: EngineInstant) { activity }

    /// Indicates whether other transfers can have streams on the transfer's connection, once there is a connection.
    package var sharesConnection: Bool {
        switch options.version {
        case .http1: false
        case .http2PriorKnowledge, .http3Only: true
        case .http2OverTLS, .http3WithFallback: options.mayBeHTTP2 && easy?.hasNegotiatedStreams ?? false
        }
    }

    /// The measurements of libcurl at this moment, for errors that do not come from libcurl.
    package var report: TransferReport { easy.map { $0.report } ?? TransferReport() }
}
