/// A request that the engine sends, and its response.
///
/// A transfer belongs to the engine thread.
package final class Transfer: @unchecked Sendable {
    // Unchecked: every member is only accessed on the engine thread.
    let engine: CurlEngine
    let options: TransferOptions
    /// The receiver of the transfer's events, until the end or the cancellation, which break a reference cycle. A weak reference would slow
    /// down every other reference to the receiver.
    var delegate: (any TransferDelegate)?
    var pauses = TransferPauses()
    var reports = StepReports()
    var connection = TransferConnection()
    var repetition = TransferRepetition()
    var sending = BodySending()
    var receiving = BodyReceiving()
    var upload = UploadBuffer()
    /// The number of times that the request was about to be sent since the transfer was last started. Over HTTP/3, libcurl itself may send
    /// the request again.
    var attempts = 0
    /// The reason why the transfer was given up. It takes precedence over any other result.
    var failure: EngineFailure?
    /// The progress of the lookup of the host's name, if the transfer leads or waits in the ``LookupGate``.
    var lookup = LookupGate.Progress.none
    /// Whether the delegate gets no more events.
    var isCancelled = false
    /// Whether the engine lists the transfer among the changed ones.
    var isDeferred = false
    /// The instant at which the request was last about to be sent.
    var start: EngineInstant
    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    var activity: (last: EngineInstant, lastSend: EngineInstant)

    init(engine: CurlEngine, options: TransferOptions, now: EngineInstant) {
        self.engine = engine
        self.options = options
        connection.http3.isChosen = !options.isForWire
        start = now
        activity = (now, now)
    }

    /// Whether the transfer goes over TCP, and not over HTTP/3.
    var isOnWire: Bool {
        get { !connection.http3.isChosen }
        set { connection.http3.isChosen = !newValue }
    }

    /// The progress on connections over TCP. Not changed in place: every read of the connection's variable would have to check for
    /// exclusive access at run time. Changes of single values are made in ``connection``.
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

    /// Whether the transfer has a connection, or is on the way to one.
    var isUnderWay: Bool { wire.isUnderWay || connection.http3.exchange != nil }

    /// The connection that was opened for the transfer beside others, if any.
    package var addedConnection: AddedConnection? { connection.added }

    /// The number of the stream on an HTTP/2 connection, if there is one.
    package var streamNumber: Int? { wire.stream.map { Int($0.number) } }

    /// The number of body bytes received, before decoding.
    package var receivedCount: Int64 { receiving.count }

    /// The instants at which bytes last moved in either direction, and at which bytes were last sent.
    package var times: (last: EngineInstant, lastSend: EngineInstant) { activity }

    /// Whether other transfers can have streams on the transfer's connection, as soon as there is a connection.
    package var sharesConnection: Bool {
        switch options.version {
        case .http1: false
        case .http2Only, .http2PriorKnowledge, .http3Only: true
        case .http2OverTLS, .http3WithFallback:
            connection.hadStreams && attempts > 0 && (connection.http3.exchange != nil || wire.http2 != nil)
        }
    }

    /// The reason why the transfer is not connected yet: a lookup, or a wait for a stream; `nil` if neither is the reason.
    package var reasonForWaiting: String? { engine.reasonForWaiting(self) }

    /// The instant from which the connecting counts, which is now while the transfer waits for a stream on a connection of others; `nil` if
    /// the transfer has not waited.
    package var connectStart: EngineInstant? {
        let waits = engine.wire.waitsForStream(self) || connection.http3.exchange?.waitsForStream == true
        return waits ? engine.now : connection.waitEnd
    }

    /// The present measurements.
    package var measurements: TransferReport {
        var report = TransferReport()
        if let exchange = connection.http3.exchange {
            report.measure(exchange)
            connection.http3.complete(&report)
        } else {
            report.measure(onWire: self)
        }
        return report
    }

    /// Records that a limit of the time of the transfer is reached, before the transfer is cancelled because of that. A connection that was
    /// silent for so long gets no further requests.
    ///
    /// - Parameter isIdle: Whether the limit counts from the last bytes of the transfer, and not from its request.
    package func didTimeOut(isIdle: Bool) {
        if let http2 = wire.http2 { return http2.didTimeOut(since: isIdle ? times.last : start) }
        guard attempts > 0, let exchange = connection.http3.exchange, !exchange.hasHead else { return }
        exchange.group.leaveConnections(of: options.pool)
    }

    /// Resets the state of the transfer to the beginning, before the transfer is started again.
    func prepareToStartAgain() {
        repetition.restarts += 1
        attempts = 0
        connection.added = nil
        receiving.mustFinishEarly = false
        pauses.isSendingPaused = false
        pauses.applied = 0
    }

    /// The source of the file descriptor for a transfer's connection.
    enum Descriptor {
        /// The system.
        case ofSystem
        /// An idle connection of the engine, which was closed.
        case ofIdleConnection
        /// Idle connections of other engines in the process, which have been closed.
        case ofOtherEngine
    }
}

/// The decoding of content codings.
extension Transfer {
    /// Creates a decoder at the first bytes of a body, if the head announces a coded body. Returns `false` if the coding is not supported.
    func prepareDecoding() -> Bool {
        guard options.decodesContent else { return true }
        let codings = receiving.codings
        receiving.decoder = ContentDecoder(codings: codings)
        if receiving.decoder == nil {
            let names = codings.joined(separator: ", ")
            failure = EngineFailure(kind: .contentCoding, message: "the content coding is not supported: \(names)")
        }
        return receiving.decoder != nil
    }

    /// Decodes bytes and delivers the result. Returns `false` if the bytes do not conform to their coding.
    func decode(_ bytes: RawSpan, with decoder: ContentDecoder) -> Bool {
        do throws(ContentDecoder.Failure) {
            try decoder.decode(bytes) { handOn($0) }
            return true
        } catch {
            failure = EngineFailure(error)
            return false
        }
    }

    /// Continues with the bytes that were kept until the reader made room. The result is as in ``decode(_:with:)``.
    func decodeFurther() -> Bool {
        guard let decoder = receiving.decoder, decoder.isHeldUp, !pauses.isReceivingPaused, !pauses.isSuspended,
            !pauses.isYielding
        else { return true }
        do throws(ContentDecoder.Failure) {
            try decoder.resume { handOn($0) }
            return true
        } catch {
            failure = EngineFailure(error)
            return false
        }
    }

    /// Whether decoded bytes are left that the reader has not taken.
    var isHeldUp: Bool { receiving.decoder?.isHeldUp ?? false }

    private func handOn(_ piece: RawSpan) -> Bool {
        delegate?.transferDidReceiveBody(piece)
        if unsafe engine.decoding.isUsedUp(by: piece.byteCount, turn: engine.executor.engineLoop.systemNow) { yield() }
        return !isCancelled && !pauses.isReceivingPaused && !pauses.isSuspended && !pauses.isYielding
    }

    /// Pauses the transfer until it is its turn to decode.
    private func yield() {
        guard !pauses.isYielding else { return }
        pauses.isYielding = true
        engine.update(self)
        unsafe engine.decoding.enter(self)
        engine.resumeDecodingSoon()
    }

    /// Returns the failure of a coded stream that is incomplete although its message is complete.
    func finishDecoding() -> EngineFailure? {
        do throws(ContentDecoder.Failure) {
            try receiving.decoder?.finish()
            return nil
        } catch {
            return EngineFailure(error)
        }
    }
}

/// Two transfers are equal if they are the same object.
extension Transfer: Hashable {
    package static func == (left: Transfer, right: Transfer) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension EngineFailure {
    fileprivate init(_ failure: ContentDecoder.Failure) {
        self.init(kind: failure == .outOfMemory ? .outOfMemory : .contentCoding, message: failure.message)
    }
}
