import CurlEngine

/// The admission of a session's exchanges to connections: one queue and one set of limits for all engines of the session.
///
/// The admission is called on the engine threads. Its lock is held for one event of the queue at a time, never while libcurl or other code
/// runs.
final class ConnectionAdmission: Sendable {
    /// An exchange as a member of the queue.
    struct Applicant: Hashable, Sendable {
        let exchange: ExchangeActor

        static func == (left: Applicant, right: Applicant) -> Bool { left.exchange === right.exchange }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(exchange)) }
    }

    typealias OriginIndex = AdmissionQueue<Applicant>.OriginIndex

    /// The result of a request for a connection slot.
    enum Result {
        /// The exchange has a slot on its engine.
        ///
        /// - Parameter isProbing: Whether other exchanges wait until the connection of this one shows whether it can be shared.
        case admitted(isProbing: Bool)
        /// The exchange has a slot, and ``ExchangeActor/didGetSlot(on:isProbing:)`` tells it so.
        case coming
        /// The exchange waits, and gets its slot through ``ExchangeActor/didGetSlot(on:isProbing:)``.
        case waiting
    }

    /// A slot for an exchange that waits.
    struct Grant {
        let exchange: ExchangeActor
        /// The engine of the slot.
        let engine: ExchangeEngine
        var isProbing = false
        /// The engine that closes an idle connection before the exchange may open its own, and the origin of that connection.
        var closing: (engine: ExchangeEngine, origin: String)?

        /// Notifies the exchange in another job of its engine, because the caller that released the slot has not finished its work.
        func deliver() {
            let (exchange, engine, isProbing) = (exchange, engine, isProbing)
            guard let closing else {
                return exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing) }
            }
            let delivery = LateDelivery {
                exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing) }
            }
            closing.engine.closeIdleConnections(to: closing.origin) { delivery.deliver() }
            delivery.waitBriefly(on: exchange.entrance)
        }
    }

    private let limits: ConnectionLimits
    let state: Locked<State>

    init(limits: ConnectionLimits) {
        self.limits = limits.usable
        state = Locked(State(limits.usable))
    }

    // MARK: Engines

    /// The number of engines that get requests without a connection.
    var activeCount: Int { state.withLock { $0.loads.activeCount } }

    /// Adds an engine. With the second engine, the admission begins to count which engine has which connections; the first engine closes
    /// its idle connections, which were not counted.
    func add(_ engine: ExchangeEngine) {
        // The reference is to the state, because a weak one slows down every other reference, and exchanges refer to the admission.
        engine.onIdle { [weak state, index = engine.index] in state?.withLock { $0.closeAllIdle(on: index) } }
        guard let first = state.withLock({ $0.add(engine) }) else { return }
        first.closeIdleConnections(to: nil)
    }

    /// Sets the number of engines that get requests without a connection; at most all engines that were added.
    func activate(_ count: Int) { state.withLock { $0.loads.activeCount = min(count, $0.loads.requests.count) } }

    /// Returns the engine on which a request to an origin begins: one with an idle connection, unless it is busy, or else the one with
    /// least to do.
    ///
    /// - Parameter origin: The queue of the request; `nil` if it is not known yet.
    func engine(for origin: String?) -> ExchangeEngine { state.withLock { $0.engine(for: origin) } }

    // MARK: Slots

    /// Requests a slot on the exchange's engine. Returns the index of its origin in the queue.
    func enter(_ exchange: ExchangeActor) -> (originIndex: OriginIndex, result: Result) {
        let prepared = exchange.prepared
        let mayShare = prepared.mayShareConnection && LibcurlFeatures.current.canMultiplex
        let applicant = Applicant(exchange: exchange)
        let hint = prepared.wire.url.queueHint
        let (entry, grant) = state.withLock { state -> (AdmissionQueue<Applicant>.Entry, Grant?) in
            let entry = state.queue.enter(
                applicant, origin: prepared.queue, mayShare: mayShare,
                priority: prepared.source.priority, hint: hint)
            guard state.isSpread, entry.isAdmitted else { return (entry, nil) }
            let grant = state.grant(exchange, at: entry.originIndex, isProbing: entry.isProbing)
            return (entry, grant.engine === exchange.home && grant.closing == nil ? nil : grant)
        }
        if entry.originIndex.value != hint { prepared.wire.url.queueHint = entry.originIndex.value }
        guard entry.isAdmitted else {
            if entry.isHolding { updateHold(on: exchange.home) }
            return (entry.originIndex, .waiting)
        }
        guard let grant else { return (entry.originIndex, .admitted(isProbing: entry.isProbing)) }
        grant.deliver()
        return (entry.originIndex, .coming)
    }

    /// Grants slots to the waiting exchanges that the first connection to their origin has room for.
    func didProbe(_ exchange: ExchangeActor, at originIndex: OriginIndex, isShared: Bool) {
        let (grants, isHolding) = state.withLock { state -> ([Grant], Bool) in
            let applicants = state.queue.probed(Applicant(exchange: exchange), at: originIndex, isShared: isShared)
            return (state.grants(applicants), state.queue.isHolding)
        }
        deliver(grants)
        if isHolding { updateHold(on: exchange.home) }
    }

    /// Removes a waiting exchange from the queue; does nothing if the exchange does not wait.
    func leave(_ exchange: ExchangeActor, at originIndex: OriginIndex) {
        state.withLock { $0.queue.leave(Applicant(exchange: exchange), at: originIndex) }
    }

    /// Releases a slot of an exchange, and grants it to a waiting exchange.
    ///
    /// - Parameters:
    ///   - engine: The engine of the slot.
    ///   - isShared: Whether several requests can share the connection; `nil` if not known.
    func release(_ exchange: ExchangeActor, at originIndex: OriginIndex, on engine: ExchangeEngine, isShared: Bool?) {
        let (grants, isHolding) = state.withLock { state -> ([Grant], Bool) in
            if state.isSpread { state.release(at: originIndex, on: engine.index) }
            let applicants = state.queue.release(
                Applicant(exchange: exchange), at: originIndex, on: engine.index, isShared: isShared)
            return (state.grants(applicants), state.queue.isHolding)
        }
        deliver(grants)
        if isHolding { updateHold(on: exchange.home) }
    }

    /// Notifies the exchanges that get slots.
    func deliver(_ grants: [Grant]) {
        for grant in grants { grant.deliver() }
    }

    /// Lets exchanges take the idle connections of other origins if their time to wait is over, and otherwise sets the timer for that. Call
    /// on the thread of the engine.
    func updateHold(on engine: ExchangeEngine) {
        let now = engine.executor.now
        let (grants, end) = state.withLock { state in state.updateHold(now: now) }
        deliver(grants)
        guard let end else { return }
        setTimer(on: engine.executor, at: end) { [self] in updateHold(on: engine) }
    }

    private func setTimer(
        on executor: EngineExecutor, at deadline: EngineInstant, _ body: @escaping @Sendable () -> Void
    ) {
        executor.engineLoop.set(EngineTimer(AdmissionTimer(body)), at: deadline)
    }

    private final class AdmissionTimer: EngineTimerTarget, Sendable {
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func timerIsDue() { body() }
    }

    /// Returns the reason why an exchange waits, for errors.
    func reasonForWaiting(_ exchange: ExchangeActor, at originIndex: OriginIndex) -> String {
        let origin = exchange.prepared.origin
        let (isProbed, count, active, ahead, isNext) = state.withLock { state in
            (
                state.queue.prober(at: originIndex) != nil, state.queue.connectionCount(at: originIndex),
                state.queue.activeCount(at: originIndex),
                state.queue.countAhead(of: Applicant(exchange: exchange), at: originIndex),
                state.queue.isNext(originIndex)
            )
        }
        if isProbed { return "the first connection to \(origin) is being made" }
        let isAtRequestLimit = active >= limits.requestsPerOrigin ?? .max
        guard isAtRequestLimit || count >= limits.perOrigin else {
            // Requests to other origins may be ahead as well: their number is not known.
            let reason = "all \(limits.total) connections of the session are in use"
            return ahead == 0 && isNext ? reason + ", and it is next" : reason
        }
        let reason =
            isAtRequestLimit
            ? "\(active) requests to \(origin) are in flight, which is the limit"
            : "all \(count) connections to \(origin) are in use"
        switch ahead {
        case 0: return reason + ", and it is next"
        case 1: return reason + ", and 1 request is ahead of it"
        default: return reason + ", and \(ahead) requests are ahead of it"
        }
    }
}
