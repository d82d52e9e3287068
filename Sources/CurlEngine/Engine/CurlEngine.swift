import CCurl

/// The owner of an engine thread's connections, the engine's and libcurl's, which starts, pauses and cancels transfers. The engine
/// applies no HTTP policy.
///
/// The engine belongs to the thread of its executor; its methods may only be called on that thread. When no transfer has run for the idle
/// lifetime of connections, the engine holds no libcurl handle and no socket.
package final class CurlEngine: EngineTimerTarget, @unchecked Sendable {
    // Unchecked: every member except the constants is only accessed on the engine thread; `makeTransfer` checks this in debug builds.
    let executor: EngineExecutor
    let configuration: EngineConfiguration
    private(set) var multi: MultiHandle?
    // Exclusivity is unchecked: one thread uses these collections, and no access to one of them calls code that uses it.
    /// The transfers that changed since libcurl was last updated.
    @exclusivity(unchecked) private var changed: [Transfer] = []
    /// The transfers that are passed to libcurl on the next flush.
    @exclusivity(unchecked) private var starting: [Transfer] = []
    /// The empty array that becomes ``starting`` in the next flush, so that neither array is allocated again.
    @exclusivity(unchecked) private var spareStarting: [Transfer] = []
    /// The HTTP/2 transfers whose body has no bytes ready. Meanwhile, libcurl before 8.1 does not read their response.
    @exclusivity(unchecked) private var stalled = TransfersBySocket()
    /// The transfers whose requests are being sent, if that is observed.
    @exclusivity(unchecked) var sending: [Transfer] = []
    /// The transfers whose server has sent GOAWAY, if libcurl does not report how their streams end.
    @exclusivity(unchecked) private var leaving = TransfersBySocket()
    /// The order in which transfers decode whose bodies grow by much.
    @exclusivity(unchecked) var decoding = DecodingTurns()
    /// The gate in which transfers wait for lookups of host names.
    let lookups: LookupGate
    /// The gate in which transfers wait for a stream on a shared connection.
    let streams: StreamGate
    /// The sockets on which the engine itself speaks HTTP/1.1.
    let wire: WireTable
    /// The races between HTTP/3 and TCP.
    let http3 = HTTP3Races()
    /// The entry of the engine among the process's engines that may close idle connections for others.
    let peer: EnginePeer
    var idleTimer: EngineTimer?
    private var counting:
        (whenCounted: @Sendable ([String: ConnectionCount]?) -> Void, mayAdd: @Sendable (String, Int) -> Bool)?
    /// The instant at which the last transfer ended.
    var lastUse = EngineInstant(nanoseconds: 0) {
        // The connection may be idle now.
        didSet { if idleTimer == nil { setIdleTimer() } }
    }

    /// Creates an engine. libcurl is set up with the first transfer.
    package init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        self.configuration = configuration
        wire = WireTable(configuration)
        lookups = LookupGate(executor: executor, configuration: configuration)
        streams = StreamGate(executor: executor, configuration: configuration)
        peer = EnginePeer(executor)
    }

    var now: EngineInstant { executor.now }

    /// Runs `body` on the engine thread.
    func submit(_ body: @escaping @Sendable () -> Void) { executor.submit(body) }

    // MARK: Transfers

    /// Creates a transfer, which ``start(_:delegate:)`` starts.
    package func makeTransfer(_ options: TransferOptions) -> Transfer {
        assert(executor.isCurrent)
        return Transfer(engine: self, options: options, now: now)
    }

    /// Starts a transfer. `delegate` is notified of every event of the transfer, but never before this method has returned.
    package func start(_ transfer: Transfer, delegate: any TransferDelegate) {
        transfer.delegate = delegate
        guard openMulti() else { return fail(transfer, .outOfMemory) }
        unsafe starting.append(transfer)
    }

    /// The number of transfers that are passed to libcurl in one turn of the loop, so that many starts delay neither cancellations nor
    /// ready sockets.
    private static let maximumStarts = 256

    /// Passes the started transfers to libcurl, or the first of many. libcurl takes connections from its pool only during this call, except
    /// for repetitions of a request, which ``Transfer/mayRepeat()`` checks.
    ///
    /// A transfer must not take a connection that has become idle in the same call, because that connection was not checked. Therefore,
    /// other work that is due runs first, and each transfer is passed to libcurl separately.
    private func handOver(to multi: MultiHandle, _ poller: Poller) {
        guard unsafe !starting.isEmpty || lookups.hasTurn || !streams.resumed.isEmpty else { return }
        act(multi, ifDueAt: MonotonicClock.now())
        var batch = unsafe spareStarting
        unsafe spareStarting = []
        unsafe swap(&batch, &starting)
        // The transfers that have waited are first.
        if !streams.resumed.isEmpty { batch.insert(contentsOf: streams.takeResumed(), at: 0) }
        if lookups.hasTurn { batch.insert(contentsOf: lookups.takeTurns(), at: 0) }
        let count = min(batch.count, Self.maximumStarts)
        defer {
            if count < batch.count {
                batch.removeFirst(count)
                unsafe batch += starting
                unsafe swap(&batch, &starting)
            }
            batch.removeAll(keepingCapacity: true)
            unsafe spareStarting = batch
        }
        var mustLook = true
        for transfer in batch[..<count] where !transfer.isCancelled {
            if http3.holds(transfer, hasConnection: { hasConnection(multi, for: $0) }) { continue }
            if transfer.isOnWire {
                wire.start(transfer)
                continue
            }
            guard transfer.lookup == .leading || streams.admits(transfer),
                lookups.admits(
                    transfer, now: executor.engineLoop.systemNow, hasConnection: hasConnection(multi, for: transfer))
            else { continue }
            if mustLook { unsafe multi.sockets.endUnclean(with: poller, besides: wire.openCount) }
            mustLook = false
            if let failure = multi.add(transfer) {
                fail(transfer, failure)
            } else {
                multi.act(on: nil)
                mustLook = finishTransfers()
                if transfer.lookup == .leading { lookups.isStillLeading(transfer) }
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

    func fail(_ transfer: Transfer, _ failure: EngineFailure) {
        transfer.failure = failure
        update(transfer)
    }

    private func openMulti() -> Bool {
        if multi == nil {
            multi = MultiHandle(configuration: configuration)
            executor.engineLoop.attach(self)
        }
        if idleTimer == nil { setIdleTimer() }
        return multi != nil
    }

    /// Records that the transfer changed. The change is applied once libcurl is no longer on the call stack.
    func update(_ transfer: Transfer) {
        guard !transfer.isDeferred else { return }
        transfer.isDeferred = true
        unsafe changed.append(transfer)
    }

    func applyChanges() {
        while unsafe !changed.isEmpty {
            let batch = unsafe changed
            unsafe changed = []
            for transfer in batch {
                transfer.isDeferred = false
                apply(transfer)
            }
        }
    }

    private func apply(_ transfer: Transfer) {
        if transfer.isOnWire { return wire.apply(transfer) }
        guard transfer.isUnderWay else {
            if transfer.isCancelled { leaveGates(transfer) }
            if transfer.receiving.heldEnd != nil {
                finishHeld(transfer)
            } else if transfer.failure != nil, !transfer.isCancelled {
                // The transfer was never passed to libcurl.
                end(transfer, CURLE_OK)
            }
            return
        }
        if transfer.isCancelled {
            // libcurl cannot end the thread of a lookup, and others may wait for its result.
            guard transfer.lookup != .leading else { return lookups.abandon(transfer) }
            leaveGates(transfer)
            lastUse = now
            let easy = transfer.easy
            willLeave(transfer)
            remove(transfer, hasFailed: false)
            // Only streams can end without their connection.
            if transfer.connection.hadStreams, let easy { didUse(easy, for: transfer) }
        } else if !transfer.decodeFurther() {
            end(transfer, CURLE_OK)
        } else if transfer.receiving.mustFinishEarly {
            end(transfer, CURLE_OK)
        } else {
            multi?.applyPause(transfer)
            if transfer.mustSendEndFirst { multi?.sendEnd(of: transfer) }
            // The end of a pause delivers the delayed bytes, which may be malformed.
            if transfer.failure != nil { end(transfer, CURLE_OK) }
        }
    }

    func end(_ transfer: Transfer, _ code: CURLcode) {
        if transfer.place.mustWait, !transfer.isCancelled, transfer.mayWaitForStream() {
            return waitForStream(transfer)
        }
        var end = transfer.end(code)
        lastUse = now
        if transfer.lookup != .none { endLookup(transfer, code: code, failure: end.failure) }
        if transfer.place.use != .none { streams.didEnd(transfer) }
        let (easy, socket) = (transfer.easy, observedSocket(of: transfer))
        willLeave(transfer)
        remove(transfer, hasFailed: code != CURLE_OK)
        if transfer.repetition.mustStartAgain { return startAgain(transfer) }
        if let socket { end.report.isConnectionKept = isKept(socket, after: transfer) }
        if case .stream = transfer.options.body { transfer.upload.discard() }
        if let easy {
            didUse(easy, for: transfer)
            if lookups.hasWaiting, let multi { endWaitForLookup(multi, after: transfer) }
        }
        guard !transfer.isCancelled else { return }
        if end.failure == nil, transfer.isHeldUp {
            // libcurl has finished the transfer, but the reader has not taken all decoded bytes.
            transfer.receiving.heldEnd = end
        } else {
            report(end, of: transfer)
        }
    }

    /// Passes transfers to libcurl on the next flush.
    func enqueue(_ transfers: [Transfer]) { unsafe starting += transfers }

    /// Starts a transfer again on the next flush, before those that were started again less often.
    func enqueueFirst(_ transfer: Transfer) {
        let restarts = transfer.repetition.restarts
        let place = unsafe starting.firstIndex { $0.repetition.restarts < restarts }
        unsafe starting.insert(transfer, at: place ?? starting.endIndex)
    }

    private func startAgain(_ transfer: Transfer) {
        guard !transfer.isCancelled else { return }
        transfer.prepareToStartAgain()
        if transfer.repetition.descriptor == .ofOtherEngine { return startWithDescriptorOfOthers(transfer) }
        unsafe starting.append(transfer)
    }

    /// Passes a transfer to libcurl that was on its way to it when the engine may have closed its connections.
    func resume(_ transfer: Transfer) {
        guard !transfer.isCancelled else { return }
        guard openMulti() else { return fail(transfer, .outOfMemory) }
        unsafe starting.append(transfer)
    }

    // MARK: Streams

    /// Lets a transfer wait for a stream, after libcurl was not allowed to open a connection for it.
    private func waitForStream(_ transfer: Transfer) {
        // While the easy handle is there, it is known whether libcurl has the addresses.
        if transfer.lookup != .none { endLookup(transfer) }
        remove(transfer, hasFailed: true)
        transfer.place.mustWait = false
        transfer.connection.hasOpenedSocket = false
        transfer.pauses.applied = 0
        streams.wait(transfer)
    }

    /// Removes a transfer from libcurl, and shuts down its connection if that connection must not be reused.
    private func remove(_ transfer: Transfer, hasFailed: Bool) {
        unsafe stalled.remove(transfer)
        unsafe leaving.remove(transfer)
        let left = mustCut(transfer, hasFailed: hasFailed) ? transfer.easy.map(socket) : nil
        multi?.remove(transfer, hasFailed: hasFailed)
        if let left { unsafe multi?.sockets.cut(left.descriptor, generation: left.generation) }
    }

    /// Returns whether the connection of a transfer must not be reused although libcurl would keep it.
    private func mustCut(_ transfer: Transfer, hasFailed: Bool) -> Bool {
        let features = LibcurlFeatures.current
        if transfer.options.version == .http2PriorKnowledge, !features.canReusePriorKnowledge { return true }
        // Until its stream is reset, the server would send further.
        return transfer.connection.hadStreams && (hasFailed || transfer.isCancelled) && !features.resetsStreamsAtOnce
    }

    // MARK: Loop

    /// The latest instant of the next ``flush(now:poller:)`` on the system's clock, if there is a limit.
    var nextDeadline: EngineInstant? {
        guard
            unsafe changed.isEmpty && starting.isEmpty && !lookups.hasTurn && streams.resumed.isEmpty
                && wire.http2.ready.isEmpty
        else {
            return EngineInstant(nanoseconds: 0)
        }
        let deadline = wire.deadline.map { min($0, multi?.deadline ?? $0) } ?? multi?.deadline
        guard let nextCheck else { return deadline }
        return min(nextCheck, deadline ?? nextCheck)
    }

    /// Handles a ready socket.
    func socketIsReady(_ ready: ReadySocket) {
        if wire.isReady(ready) { return }
        guard let multi, unsafe multi.sockets.isWanted(ready) else { return }
        guard ready.descriptor != multi.addressChanges?.descriptor else { return addressesDidChange(multi) }
        unsafe leaving.transfer(on: ready.descriptor)?.countWritten()
        unsafe multi.sockets.noteRead(ready, at: now)
        multi.act(on: ready)
        mustCheck = true
        finishTransfers()
        lookForAnswers(on: ready.descriptor)
    }

    /// Records that the source of the request body has no more bytes for now.
    func sendingHasStalled(_ transfer: Transfer) {
        guard transfer.connection.hadStreams, !transfer.isOnWire, !LibcurlFeatures.current.isAtLeast(8, 1) else {
            return
        }
        unsafe stalled.insert(transfer)
    }

    private func lookForAnswers(on socket: Int32) {
        guard let transfer = unsafe stalled.transfer(on: socket) else { return }
        unsafe stalled.remove(transfer)
        transfer.lookForAnswer()
    }

    /// Records that a server has sent GOAWAY while the response to the transfer is in progress.
    func serverIsLeaving(_ transfer: Transfer) { unsafe leaving.insert(transfer) }

    /// Does the work that is due, and updates the poller. Called before every wait and after every batch of events.
    func flush(now: EngineInstant, poller: Poller) {
        // Transfers can change without a multi handle: an end may have been delayed until its reader took all bytes.
        applyChanges()
        guard let multi else { return }
        finishTransfers()
        if lookups.hasConnecting { endCompleteLookups() }
        handOver(to: multi, poller)
        act(multi, ifDueAt: now)
        wire.act(ifDueAt: now)
        checkConnections(multi, now: now)
        // The last of these may have applied changes.
        if multi.hasSentEnd { finishTransfers() }
        if unsafe !multi.sockets.closed.isEmpty { noteClosedConnections(multi) }
        if unsafe !wire.http2.ready.isEmpty { wire.flushStreams() }
        if unsafe wire.counts.haveChanged { reportCounts() }
        if unsafe !sending.isEmpty { reportSent() }
        unsafe multi.sockets.apply(to: poller)
    }

    // MARK: Dead connections

    /// Whether some transfers have HTTP/2 connections that may be dead without libcurl reporting their end.
    var mayHaveDeadConnections = false
    /// Whether a socket has become ready since the last check of the connections.
    private var mustCheck = false
    /// The instant of the next check of the connections; `nil` if none is planned.
    private var nextCheck: EngineInstant?
    private var lastCheck = EngineInstant(nanoseconds: 0)
    /// The time from ready sockets to the check of the connections.
    private static let checkDelay = Duration.milliseconds(200)

    /// Checks the connections shortly after data was received, once for many arrivals.
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

    /// Ends the transfers that libcurl has finished. Returns whether there were any.
    @discardableResult
    private func finishTransfers() -> Bool {
        var hasFinished = false
        repeat {
            while let (transfer, code) = multi?.nextFinished() {
                hasFinished = true
                end(transfer, code)
            }
        } while multi?.readConnections(streams.takeLeftPorts()) == true
        return hasFinished
    }

    /// Ends all work and closes every socket.
    func close() {
        wire.closeAll()
        http3.close()
        for transfer in unsafe changed + starting + lookups.close() + streams.close() { transfer.abandon() }
        unsafe (changed, starting, sending) = ([], [], [])
        unsafe stalled = TransfersBySocket()
        unsafe leaving = TransfersBySocket()
        unsafe decoding = DecodingTurns()
        nextCheck = nil
        // Ends the running transfers.
        multi = nil
    }

    // MARK: Idle connections

    /// Sets the closure that gets the counts of the engine's own connections by the names of their queues (``TransferOptions/queue``),
    /// when they have changed; `nil` when all connections, libcurl's included, were idle for their lifetime and are closed. Call before the
    /// first transfer.
    ///
    /// - Parameter mayAdd: Returns whether a number of HTTP/2 connections of a queue may be in use, one more than now.
    package func onCount(
        _ body: @escaping @Sendable ([String: ConnectionCount]?) -> Void,
        mayAdd: @escaping @Sendable (_ queue: String, _ count: Int) -> Bool = { _, _ in true }
    ) { counting = (body, mayAdd) }

    /// Returns whether a number of HTTP/2 connections of a queue may be in use, one more than now.
    func mayAddConnection(to queue: String, _ count: Int) -> Bool { counting?.mayAdd(queue, count) ?? true }

    private func reportCounts() {
        let changes = unsafe wire.counts.takeChanges()
        counting?.whenCounted(changes)
    }

    /// Whether transfers are in libcurl, or on their way to it.
    var isBusy: Bool {
        unsafe hasTransfers || !changed.isEmpty || !starting.isEmpty || lookups.isBusy || streams.isBusy
    }

    /// Closes all connections. There must be no transfers.
    func closeConnections() {
        _ = lookups.close()
        _ = streams.close()
        wire.closeAll()
        http3.close()
        multi = nil
        counting?.whenCounted(nil)
    }
}

/// The ends of transfers, which may be delayed until the reader has taken all bytes.
extension CurlEngine {
    /// Delivers more of the decoded bytes, and the end of the transfer after all of them were taken.
    func finishHeld(_ transfer: Transfer) {
        guard let end = transfer.receiving.heldEnd, !transfer.isCancelled else { return }
        let isDecoded = transfer.decodeFurther()
        guard !isDecoded || !transfer.isHeldUp, !transfer.isCancelled else { return }
        let failure = isDecoded ? transfer.finishDecoding() : transfer.failure
        report(TransferEnd(failure: failure, trailers: end.trailers, report: end.report), of: transfer)
    }

    /// Notifies the delegate of a transfer of its end.
    func report(_ end: consuming TransferEnd, of transfer: Transfer) {
        transfer.isCancelled = true
        let delegate = transfer.delegate
        transfer.delegate = nil
        delegate?.transferDidEnd(end)
    }
}
