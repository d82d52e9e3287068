import CCurl

/// The owner of the connections of an engine thread, which starts, pauses and cancels transfers. The engine applies no HTTP policy.
///
/// The engine belongs to the thread of its executor; its methods may only be called on that thread. When no transfer has run for the idle
/// lifetime of connections, the engine holds no libcurl handle and no socket.
package final class CurlEngine: EngineTimerTarget, @unchecked Sendable {
    // Unchecked: every member except the constants is only accessed on the engine thread; `makeTransfer` checks this in debug builds.
    let executor: EngineExecutor
    let configuration: EngineConfiguration
    /// What the engine watches while it may have connections; `nil` if it has none.
    private(set) var watches: EngineWatches?
    /// The requests over HTTP/3; `nil` if there are no connections for them.
    private(set) var http3: HTTP3Group?
    // Exclusivity is unchecked: one thread uses these collections, and no access to one of them calls code that uses it.
    /// The transfers that changed since the changes were last applied.
    @exclusivity(unchecked) private var changed: [Transfer] = []
    /// The transfers that start on the next flush.
    @exclusivity(unchecked) private var starting: [Transfer] = []
    /// The empty array that becomes ``starting`` in the next flush, so that neither array is allocated again.
    @exclusivity(unchecked) private var spareStarting: [Transfer] = []
    /// The transfers whose requests are being sent, if that is observed.
    @exclusivity(unchecked) var sending: [Transfer] = []
    /// The order in which transfers decode whose bodies grow by much.
    @exclusivity(unchecked) var decoding = DecodingTurns()
    /// The gate in which transfers wait for lookups of host names.
    let lookups: LookupGate
    /// The connections over TCP.
    let wire: WireTable
    /// The races between HTTP/3 and TCP.
    let http3Races = HTTP3Races()
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

    /// Creates an engine, which has neither handles nor sockets before its first transfer.
    package init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        self.configuration = configuration
        wire = WireTable(configuration)
        lookups = LookupGate(executor: executor, configuration: configuration)
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
        open()
        unsafe starting.append(transfer)
    }

    private func open() {
        if watches == nil {
            watches = EngineWatches(configuration, executor.engineLoop)
            executor.engineLoop.attach(self)
        }
        if idleTimer == nil { setIdleTimer() }
    }

    /// The number of transfers that are started in one turn of the loop, so that many starts delay neither cancellations nor ready sockets.
    private static let maximumStarts = 256

    /// Starts the transfers that wait for this turn, or the first of many.
    private func startAll() {
        guard unsafe !starting.isEmpty || lookups.hasTurn else { return }
        var batch = unsafe spareStarting
        unsafe spareStarting = []
        unsafe swap(&batch, &starting)
        // The transfers that have waited are first.
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
        for transfer in batch[..<count] where !transfer.isCancelled && !http3Races.holds(transfer) {
            wire.start(transfer)
        }
        applyChanges()
    }

    /// Passes the request of a transfer to libcurl, which speaks HTTP/3. Returns the failure if it cannot.
    func beginHTTP3(_ transfer: Transfer, at addresses: [IPAddress]) -> EngineFailure? {
        if http3 == nil, let watches { http3 = HTTP3Group(self, watch: watches.calls) }
        guard let http3 else { return .outOfMemory }
        return http3.begin(transfer, at: addresses)
    }

    func fail(_ transfer: Transfer, _ failure: EngineFailure) {
        transfer.failure = failure
        update(transfer)
    }

    /// Records that the transfer changed. The change is applied after the present callback has returned.
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
                wire.apply(transfer)
            }
        }
    }

    /// Starts transfers on the next flush.
    func enqueue(_ transfers: [Transfer]) { unsafe starting += transfers }

    /// Starts a transfer again on the next flush, before those that were started again less often.
    func enqueueFirst(_ transfer: Transfer) {
        let restarts = transfer.repetition.restarts
        let place = unsafe starting.firstIndex { $0.repetition.restarts < restarts }
        unsafe starting.insert(transfer, at: place ?? starting.endIndex)
    }

    /// Starts a transfer that was on its way when the engine may have closed its connections.
    func resume(_ transfer: Transfer) {
        guard !transfer.isCancelled else { return }
        open()
        unsafe starting.append(transfer)
    }

    // MARK: Loop

    /// The latest instant of the next ``flush(now:poller:)`` on the system's clock, if there is a limit.
    var nextDeadline: EngineInstant? {
        guard unsafe changed.isEmpty && starting.isEmpty && !lookups.hasTurn && wire.http2.ready.isEmpty else {
            return EngineInstant(nanoseconds: 0)
        }
        return wire.deadline.map { min($0, http3?.deadline ?? $0) } ?? http3?.deadline
    }

    /// Handles a ready socket.
    func socketIsReady(_ ready: ReadySocket) {
        if wire.isReady(ready) || http3?.isReady(ready) == true { return }
        if let watches, watches.isReady(ready) { watches.addressesDidChange(self) }
    }

    /// Does the work that is due. Called before every wait and after every batch of events.
    func flush(now: EngineInstant) {
        // Transfers can change without a connection: an end may have been delayed until its reader took all bytes.
        applyChanges()
        guard watches != nil else { return }
        startAll()
        wire.act(ifDueAt: now)
        if let http3 {
            http3.act(ifDueAt: now)
            applyChanges()
        }
        if unsafe !wire.http2.ready.isEmpty { wire.flushStreams() }
        if unsafe wire.counts.haveChanged { reportCounts() }
        if unsafe !sending.isEmpty { reportSent() }
    }

    /// Ends all work and closes every socket.
    func close() {
        wire.closeAll()
        for transfer in unsafe changed + starting + lookups.close() { transfer.abandon() }
        unsafe (changed, starting, sending) = ([], [], [])
        unsafe decoding = DecodingTurns()
        http3Races.close()
        http3 = nil
        watches = nil
    }

    // MARK: Idle connections

    /// Sets the closure that gets the counts of the connections over TCP, by the names of their queues (``TransferOptions/queue``), when
    /// they have changed. It gets `nil` when all connections, over HTTP/3 too, were idle and are closed. Call before the first transfer.
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

    /// Whether transfers are under way.
    var isBusy: Bool { unsafe hasTransfers || !changed.isEmpty || !starting.isEmpty || lookups.isBusy }

    /// Closes all connections. There must be no transfers.
    func closeConnections() {
        _ = lookups.close()
        wire.closeAll()
        http3Races.close()
        http3 = nil
        watches = nil
        counting?.whenCounted(nil)
    }

    /// Closes the connections over HTTP/3, with the requests on them.
    func closeHTTP3() { http3 = nil }
}

/// The ends of transfers, which may be delayed until the reader has taken all bytes.
extension CurlEngine {
    /// Delivers more of the decoded bytes, and the end of the transfer after all of them were taken.
    func finishHeld(_ transfer: Transfer) {
        guard let end = transfer.receiving.heldEnd?.value, !transfer.isCancelled else { return }
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

    // MARK: Turns of decoding

    /// Lets waiting transfers decode in the next turn of the loop, in their order and up to the limit, and the others in later turns.
    func resumeDecodingSoon() {
        guard unsafe decoding.schedule() else { return }
        submit { [self] in
            unsafe decoding.jobBegins()
            let turn = executor.engineLoop.systemNow
            repeat {
                guard let transfer = unsafe decoding.next() else { return }
                transfer.pauses.isYielding = false
                update(transfer)
                applyChanges()
            } while unsafe !decoding.isUsedUp(turn: turn)
            resumeDecodingSoon()
        }
    }

    // MARK: Requests that are being sent

    /// Checks at the end of this turn, and of the following ones, whether the request of a transfer was sent.
    func checkSending(of transfer: Transfer) { unsafe sending.append(transfer) }

    /// Reports the requests that were sent.
    func reportSent() {
        let transfers = unsafe sending
        unsafe sending = []
        for transfer in transfers {
            guard transfer.isUnderWay, transfer.delegate != nil, transfer.reports.sending == .checked else {
                transfer.reports.sending = .over
                continue
            }
            transfer.reportSentHead()
            guard transfer.hasSentRequest else {
                // The end of a body asks for the check again.
                if transfer.reports.isHeadReported, !transfer.hasTakenBody {
                    transfer.reports.sending = .wanted
                } else {
                    unsafe sending.append(transfer)
                }
                continue
            }
            transfer.reports.sending = .over
            transfer.delegate?.transferDidReach(.sent)
        }
    }
}

/// The waits of transfers for lookups of host names.
extension CurlEngine {
    /// Records that the addresses of a leader's host are known, or that the leader needs none.
    func lookupDidEnd(_ transfer: Transfer, isResolved: Bool) {
        enqueue(lookups.didEnd(transfer, isResolved: isResolved, now: MonotonicClock.now()))
        // A cancelled transfer has stayed only for its lookup.
        if transfer.isCancelled { update(transfer) }
    }

    /// Ends the wait of a transfer that ends itself. The transfers that wait for the same lookup share its failure, on other
    /// engines too.
    func endLookup(_ transfer: Transfer, code: CURLcode = CURLE_OK, failure: EngineFailure? = nil) {
        guard transfer.lookup == .leading else { return lookups.leave(transfer) }
        let isUnresolved = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY
        // The failure of a request that was sent before is not the lookup's alone.
        let failure = isUnresolved && transfer.attempts == 0 ? failure : nil
        let waiting = lookups.didEnd(
            transfer, isResolved: false, failure: failure, now: MonotonicClock.now())
        guard let failure else { return enqueue(waiting) }
        for transfer in waiting where !wire.waitInstead(transfer, after: failure) { fail(transfer, failure) }
    }

    /// Starts a transfer that waits to look up the name of an origin, if a connection to the origin is idle after the end of another one.
    func endWaitForLookup(after transfer: Transfer) {
        guard wire.hasIdle(transfer.options.wirePool), let next = lookups.takeWaiting(forConnectionOf: transfer) else {
            return
        }
        enqueue([next])
    }

    /// Removes a cancelled transfer from the gates in which it waits.
    func leaveGates(_ transfer: Transfer) {
        // The timer may not be set while transfers are under way.
        if idleTimer == nil { setIdleTimer() }
        if transfer.lookup != .none { endLookup(transfer) }
    }

    /// Returns the reason why a transfer is not connected yet; `nil` if no gate is the reason.
    func reasonForWaiting(_ transfer: Transfer) -> String? {
        lookups.reason(for: transfer) ?? wire.reasonForWaiting(transfer)
    }
}
