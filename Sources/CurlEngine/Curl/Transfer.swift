/// One request on its way through libcurl and its response on the way back.
///
/// Belongs to the engine thread.
package final class Transfer: @unchecked Sendable {
    // Unchecked: every member is only touched on the engine thread; `CurlEngine`, the sole source of transfers, is entered
    // there only, and so are libcurl's callbacks.
    let engine: CurlEngine
    let options: TransferOptions
    /// Until the end or the cancellation, which break the cycle with it. A weak reference would slow down every other one.
    var delegate: (any TransferDelegate)?
    // One thread, and no call of the machine inside another: there is nothing for the runtime to check.
    /// The handle while the transfer is in libcurl.
    var easy: EasyHandle?
    @exclusivity(unchecked) var parser: HeadParser
    var upload = UploadBuffer()
    var hasAskedForBody = false
    /// How often libcurl was about to send the request since it was handed over; more than once is a repetition of libcurl's own.
    var attempts = 0
    /// How often it was handed over once more.
    var restarts = 0
    /// It is to be handed to libcurl once more, from the beginning.
    var mustStartAgain = false
    /// What libcurl's log says of the stream, where it is read.
    var refusal = StreamRefusal()
    /// The attempt before this one was refused.
    var wasRefused = false
    /// The connection of the last attempt carries streams.
    var hadStreams = false
    /// This side's port of that connection, 0 or less where it has none.
    var localPort: Int32 = 0
    /// Bytes of the body have been handed to libcurl. Those of a body in memory it has for itself.
    var hasReadBody = false
    /// Why the transfer was given up in a callback; goes before libcurl's own view.
    var failure: EngineFailure?
    /// The delegate does not want to hear any more.
    var isCancelled = false
    var isReceivingPaused = false
    /// Enough was decoded in this turn of the loop; the next one goes on.
    var isYielding = false
    /// The turn in which bytes were decoded last, and how many.
    var decodedTurn = EngineInstant(nanoseconds: 0)
    var decodedBytes = 0
    var isSendingPaused = false
    var isSuspended = false
    /// The framework wants nothing sent for now.
    var isSendingHeld = false
    /// Nothing more of the body is wanted.
    var isSendingStopped = false
    /// The pause bits that libcurl was told last.
    var appliedPause: Int32 = 0
    var isDeferred = false
    var mustFinishEarly = false
    /// Where the chunks of an early answer end, if it has any.
    var chunks: ChunkScanner?
    /// What libcurl's log says of an HTTP/2 connection, where nothing else does.
    var log: ConnectionLog?
    /// Takes the content codings off the body, where it has any.
    var decoder: ContentDecoder?
    /// libcurl has finished while decoded bytes waited for their reader.
    var heldEnd: TransferEnd?
    /// Bytes of the body that came, before decoding.
    package var receivedBytes: Int64 = 0
    /// When bytes last moved in either direction, and when they last left.
    var activity: (last: EngineInstant, lastSend: EngineInstant)

    init(engine: CurlEngine, options: TransferOptions, delegate: any TransferDelegate, now: EngineInstant) {
        self.engine = engine
        self.options = options
        self.delegate = delegate
        unsafe parser = HeadParser(limit: options.maximumHeaderBytes)
        activity = (now, now)
    }

    // MARK: Control

    /// Ends the transfer and closes its connection (HTTP/2 and 3: its stream). The delegate hears nothing more.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        delegate = nil
        upload.discard()
        engine.update(self)
    }

    /// Lets go of everything, because the engine ends.
    func abandon() {
        isCancelled = true
        delegate = nil
        easy = nil
        upload.discard()
    }

    /// Stops or goes on receiving. A little may still come after it was stopped.
    package func pauseReceiving(_ isPaused: Bool) {
        guard isReceivingPaused != isPaused else { return }
        isReceivingPaused = isPaused
        engine.update(self)
    }

    /// Stops or goes on in both directions.
    package func suspend(_ isSuspended: Bool) {
        guard self.isSuspended != isSuspended else { return }
        self.isSuspended = isSuspended
        if !isSuspended { activity.last = engine.now }
        engine.update(self)
    }

    /// Nothing of the body may go out now.
    var isHeldBack: Bool { isSuspended || (isSendingHeld && !isSendingStopped) }

    /// The bits for `curl_easy_pause`, which sets both directions at once.
    ///
    /// Receiving alone is not paused before the head: there 7.88 would go on reading, and hand on the lines of the head as one.
    var wantedPause: Int32 {
        let holdsBody = unsafe (isReceivingPaused || isYielding) && parser.hasFinalHead
        return (holdsBody || isSuspended ? 1 : 0) | (isSendingPaused || isHeldBack ? 4 : 0)
    }

    /// When bytes last moved in either direction, and when they last left.
    package var times: (last: EngineInstant, lastSend: EngineInstant) { activity }

    /// Whether others can have streams on the transfer's connection, once there is one.
    package var sharesConnection: Bool {
        switch options.version {
        case .http1: false
        case .http2PriorKnowledge, .http3Only: true
        case .http2OverTLS, .http3WithFallback: options.mayBeHTTP2 && easy?.hasNegotiatedStreams ?? false
        }
    }

    /// What libcurl says of the connection at this moment, for errors that come from elsewhere than libcurl.
    package var report: TransferReport { easy.map { $0.report } ?? TransferReport() }
}
