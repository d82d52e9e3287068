import CCurl

/// libcurl on an engine thread: starts, pauses and cancels transfers. No HTTP policy.
///
/// Belongs to the thread of its executor: call it there only. While nothing has run for the idle lifetime of connections,
/// it holds no libcurl handle and no socket.
package final class CurlEngine: LoopClient, EngineTimerTarget, @unchecked Sendable {
    // Unchecked: every member but the constants is only touched on the engine thread; `start` checks that in debug builds.
    private let executor: EngineExecutor
    private let configuration: EngineConfiguration
    private var multi: MultiHandle?
    private var changed: [Transfer] = []
    /// Those that libcurl gets next.
    private var starting: [Transfer] = []
    /// Those that wait for bytes of their body, where libcurl would not see their answer.
    private var stalled = TransfersBySocket()
    /// Those whose server has said GOAWAY, where libcurl does not say how their streams end.
    private var leaving = TransfersBySocket()
    private var idleTimer: EngineTimer?
    private var lastUse = EngineInstant(nanoseconds: 0)

    package init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        self.configuration = configuration
    }

    var now: EngineInstant { executor.now }

    /// Runs `body` on the engine thread.
    func submit(_ body: @escaping @Sendable () -> Void) { executor.submit(body) }

    /// How many sockets are open.
    package var openSocketCount: Int { unsafe multi?.sockets.openCount ?? 0 }

    // MARK: Transfers

    /// Starts a transfer. Whatever happens to it is told to `delegate`, never before this has returned.
    package func start(_ options: TransferOptions, delegate: any TransferDelegate) -> Transfer {
        assert(executor.isCurrent)
        let transfer = Transfer(engine: self, options: options, delegate: delegate, now: now)
        guard openMulti() else {
            fail(transfer, EngineFailure(kind: .outOfMemory, message: "libcurl has no memory for a handle"))
            return transfer
        }
        starting.append(transfer)
        return transfer
    }

    /// Hands over what was started. It is now, and at no other time, that libcurl takes connections from its pool, except for
    /// repetitions, of which the transfers see to themselves.
    ///
    /// None may take a connection that has become idle in the same call, as nobody has looked at that: what is due otherwise comes
    /// before them, and each is handed over by itself.
    private func handOver(to multi: MultiHandle, _ poller: Poller) {
        guard !starting.isEmpty else { return }
        act(multi, ifDueAt: MonotonicClock.now())
        let batch = starting
        starting = []
        var mustLook = true
        for transfer in batch where !transfer.isCancelled {
            if mustLook { unsafe multi.sockets.endUnclean(with: poller) }
            mustLook = false
            if let failure = multi.add(transfer) {
                fail(transfer, failure)
            } else {
                multi.act(on: nil)
                mustLook = finishTransfers()
            }
        }
        applyChanges()
    }

    private func act(_ multi: MultiHandle, ifDueAt now: EngineInstant) {
        guard let deadline = multi.deadline, deadline <= now else { return }
        multi.act(on: nil)
        finishTransfers()
        applyChanges()
    }

    private func fail(_ transfer: Transfer, _ failure: EngineFailure) {
        transfer.failure = failure
        update(transfer)
    }

    private func openMulti() -> Bool {
        if multi == nil {
            multi = MultiHandle(configuration: configuration)
            executor.engineLoop.attach(self)
        }
        if idleTimer == nil {
            let timer = EngineTimer(self)
            idleTimer = timer
            executor.engineLoop.set(timer, at: now.advanced(by: idleLifetime))
        }
        return multi != nil
    }

    /// Something about the transfer changed; libcurl is told as soon as it is not on the stack.
    func update(_ transfer: Transfer) {
        guard !transfer.isDeferred else { return }
        transfer.isDeferred = true
        changed.append(transfer)
    }

    private func applyChanges() {
        while !changed.isEmpty {
            let batch = changed
            changed = []
            for transfer in batch {
                transfer.isDeferred = false
                apply(transfer)
            }
        }
    }

    private func apply(_ transfer: Transfer) {
        guard transfer.easy != nil else {
            if transfer.heldEnd != nil {
                finishHeld(transfer)
            } else if transfer.failure != nil, !transfer.isCancelled {
                // It never got into libcurl.
                end(transfer, CURLE_OK)
            }
            return
        }
        if transfer.isCancelled {
            remove(transfer, hasFailed: false)
        } else if !transfer.decodeFurther() {
            end(transfer, CURLE_OK)
        } else if transfer.mustFinishEarly {
            end(transfer, CURLE_OK)
        } else {
            multi?.applyPause(transfer)
            // The end of a pause brings the bytes that were held back, and they may be wrong.
            if transfer.failure != nil { end(transfer, CURLE_OK) }
        }
    }

    private func end(_ transfer: Transfer, _ code: CURLcode) {
        let end = transfer.end(code)
        lastUse = now
        let easy = transfer.easy
        remove(transfer, hasFailed: code != CURLE_OK)
        if transfer.mustStartAgain { return startAgain(transfer) }
        transfer.upload.discard()
        if let easy, unsafe transfer.parser.isHTTP1 {
            unsafe multi?.sockets.didBecomeIdle(
                easy.socket, generation: easy.socketGeneration, after: ObjectIdentifier(easy))
        }
        guard !transfer.isCancelled else { return }
        if end.failure == nil, transfer.isHeldUp {
            // libcurl is through with it; its reader is not.
            transfer.heldEnd = end
        } else {
            report(end, of: transfer)
        }
    }

    private func startAgain(_ transfer: Transfer) {
        guard !transfer.isCancelled else { return }
        transfer.prepareToStartAgain()
        starting.append(transfer)
    }

    /// Takes a transfer out of libcurl, and cuts its connection where it must not be used again.
    private func remove(_ transfer: Transfer, hasFailed: Bool) {
        stalled.remove(transfer)
        leaving.remove(transfer)
        guard transfer.options.version == .http2PriorKnowledge, !LibcurlFeatures.current.canReusePriorKnowledge else {
            multi?.remove(transfer, hasFailed: hasFailed)
            return
        }
        let socket = transfer.easy?.findSocket() ?? -1
        let generation = unsafe multi?.sockets.generation(of: socket) ?? 0
        multi?.remove(transfer, hasFailed: hasFailed)
        unsafe multi?.sockets.cut(socket, generation: generation)
    }

    /// Hands on more of what was decoded, and the end once everything is taken.
    private func finishHeld(_ transfer: Transfer) {
        guard let end = transfer.heldEnd, !transfer.isCancelled else { return }
        let isDecoded = transfer.decodeFurther()
        guard !isDecoded || !transfer.isHeldUp, !transfer.isCancelled else { return }
        let failure = isDecoded ? transfer.finishDecoding() : transfer.failure
        report(TransferEnd(failure: failure, trailers: end.trailers, report: end.report), of: transfer)
    }

    private func report(_ end: TransferEnd, of transfer: Transfer) {
        transfer.isCancelled = true
        let delegate = transfer.delegate
        transfer.delegate = nil
        delegate?.transferDidEnd(end)
    }

    // MARK: Loop

    var nextDeadline: EngineInstant? {
        guard changed.isEmpty, starting.isEmpty else { return EngineInstant(nanoseconds: 0) }
        guard let nextCheck else { return multi?.deadline }
        return min(nextCheck, multi?.deadline ?? nextCheck)
    }

    func socketIsReady(_ ready: ReadySocket) {
        guard let multi, unsafe multi.sockets.isWanted(ready) else { return }
        leaving.transfer(on: ready.descriptor)?.countWritten()
        multi.act(on: ready)
        mustCheck = true
        finishTransfers()
        lookForAnswers(on: ready.descriptor)
    }

    /// A body's source has nothing more for now.
    func sendingHasStalled(_ transfer: Transfer) {
        guard transfer.hadStreams, !LibcurlFeatures.current.isAtLeast(8, 1) else { return }
        stalled.insert(transfer)
    }

    private func lookForAnswers(on socket: Int32) {
        guard let transfer = stalled.transfer(on: socket) else { return }
        stalled.remove(transfer)
        transfer.lookForAnswer()
    }

    /// A server has said GOAWAY to a transfer whose answer is under way.
    func serverIsLeaving(_ transfer: Transfer) { leaving.insert(transfer) }

    func flush(now: EngineInstant, poller: Poller) {
        // There may be changes without a libcurl: ends that were held back until their reader came.
        applyChanges()
        guard let multi else { return }
        finishTransfers()
        handOver(to: multi, poller)
        act(multi, ifDueAt: now)
        checkConnections(multi, now: now)
        unsafe multi.sockets.apply(to: poller)
    }

    // MARK: Dead connections

    /// There are transfers whose HTTP/2 connections may be dead without an end.
    var mayHaveDeadConnections = false
    /// Something has come in since the last check, or when it is looked at.
    private var mustCheck = false
    private var nextCheck: EngineInstant?
    private var lastCheck = EngineInstant(nanoseconds: 0)
    private static let checkDelay = Duration.milliseconds(200)

    /// Looks a little after something has come in, once for many.
    private func checkConnections(_ multi: MultiHandle, now: EngineInstant) {
        guard mayHaveDeadConnections else { return }
        guard let deadline = nextCheck else {
            if mustCheck { nextCheck = now.advanced(by: Self.checkDelay) }
            return
        }
        guard deadline <= now else { return }
        (nextCheck, mustCheck) = (nil, false)
        mayHaveDeadConnections = multi.lookAtConnections(since: lastCheck)
        lastCheck = self.now
        finishTransfers()
        applyChanges()
    }

    /// Ends what libcurl is through with. Returns whether there was anything.
    @discardableResult
    private func finishTransfers() -> Bool {
        var hasFinished = false
        while let (transfer, code) = multi?.nextFinished() {
            hasFinished = true
            end(transfer, code)
        }
        return hasFinished
    }

    func close() {
        for transfer in changed + starting { transfer.abandon() }
        changed = []
        starting = []
        stalled = TransfersBySocket()
        leaving = TransfersBySocket()
        nextCheck = nil
        // Ends those that run.
        multi = nil
    }

    // MARK: Idleness

    private var idleLifetime: Duration { .seconds(max(configuration.idleLifetimeSeconds, 1)) }

    /// Connections that nobody has used for their lifetime are closed, so that an idle session holds none.
    package func timerIsDue() {
        guard let multi, let timer = idleTimer else { return }
        // The timer is not moved at every use: it looks when the last one was.
        let isBusy = multi.runningCount > 0 || !changed.isEmpty || !starting.isEmpty
        let deadline = (isBusy ? now : lastUse).advanced(by: idleLifetime)
        guard deadline <= now else { return executor.engineLoop.set(timer, at: deadline) }
        idleTimer = nil
        self.multi = nil
    }
}
