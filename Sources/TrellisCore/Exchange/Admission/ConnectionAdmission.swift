import CurlEngine

/// The admission of a session's exchanges to connections: the ``ConnectionScheduler`` of all engines of the session, behind a lock.
///
/// The admission is called on the engine threads. Its lock is held for one event of the scheduler at a time, never while other code runs.
final class ConnectionAdmission: Sendable {
    /// An exchange as a member of the queue.
    struct Applicant: Hashable, Sendable {
        let exchange: ExchangeActor

        static func == (left: Applicant, right: Applicant) -> Bool { left.exchange === right.exchange }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(exchange)) }
    }

    typealias Scheduler = ConnectionScheduler<Applicant>

    /// The result of a request for a connection slot.
    enum Result {
        /// The exchange has a slot.
        ///
        /// - Parameter isProbing: Whether other exchanges wait until the connection of this one shows whether it can be shared.
        case admitted(isProbing: Bool)
        /// The exchange gets its slot through ``ExchangeActor/didGetSlot(isProbing:)``, at once or in its turn.
        ///
        /// - Parameter hasSlot: Whether the exchange has the slot already, and waits only until an idle connection is closed.
        case coming(hasSlot: Bool)
        /// The exchange does not wait: it fails with the error.
        case shed(TrellisError)
    }

    /// An origin whose connections are kept open.
    struct Watch {
        let minimum: Int
        let whenLost: @Sendable () -> Void
        /// The numbers of connections that the engines have told last.
        private var counts: [Int: Int] = [:]

        init(minimum: Int, whenLost: @escaping @Sendable () -> Void) {
            (self.minimum, self.whenLost) = (minimum, whenLost)
        }

        /// Records the number of an engine's connections. Returns whether some were lost, and there are too few.
        ///
        /// - Parameter areShared: Whether each carries many requests. One is enough then, and no further ones would be opened.
        mutating func record(_ count: Int, areShared: Bool = false, on engine: Int) -> Bool {
            let before = total
            counts[engine] = areShared && count > 0 ? max(count, minimum) : count
            return total < min(before, minimum)
        }

        /// Whether there are too few connections.
        var isShort: Bool { total < minimum }

        private var total: Int { counts.values.reduce(0, +) }
    }

    /// The state that the lock guards.
    private struct State {
        var scheduler: Scheduler
        var engines: [ExchangeEngine] = []
        /// The origins whose connections are kept open.
        var watches: [String: Watch] = [:]
        /// Returns whether the thread of an engine is busy most of its time.
        var isBusy: (Int) -> Bool = { _ in false }
        /// When origins no longer leave idle connections to others; `nil` if none does so.
        private var holdEnd: EngineInstant?
        /// The interval of the holds' ends. An exchange waits for one to two intervals at most.
        private static var holdTime: Duration { .milliseconds(5) }

        init(scheduler: Scheduler) { self.scheduler = scheduler }

        /// Ends the hold of idle connections if its time is over. Returns the slots that are granted, and the instant for a timer; `nil` if
        /// no timer is needed.
        mutating func updateHold(now: EngineInstant) -> ([Scheduler.Grant], EngineInstant?) {
            if let holdEnd, now < holdEnd { return ([], nil) }
            let granted = holdEnd == nil ? [] : scheduler.endHold()
            holdEnd = scheduler.isHolding ? now.advanced(by: Self.holdTime) : nil
            return (granted, holdEnd)
        }

        /// Records the numbers of an engine's connections that have changed; `nil` if it has closed all of them. Returns the functions to
        /// call because there are too few connections.
        mutating func count(
            _ counts: [String: TransportCount]?, on engine: Int
        ) -> (losses: [@Sendable () -> Void], grants: [Scheduler.Grant]) {
            guard let counts else {
                scheduler.closedAllIdle(on: engine)
                return (watches.keys.compactMap { lost($0, TransportCount(0), on: engine) }, [])
            }
            var grants: [Scheduler.Grant] = []
            for (origin, count) in counts {
                grants += scheduler.setShared(count.shared, to: origin, on: engine)
                scheduler.setConnections(count.connections, to: origin, on: engine)
                if let streams = count.streams { grants += scheduler.allowed(streams, to: origin) }
            }
            return (watches.isEmpty ? [] : counts.compactMap { lost($0, $1, on: engine) }, grants)
        }

        private mutating func lost(
            _ origin: String, _ count: TransportCount, on engine: Int
        ) -> (@Sendable () -> Void)? {
            let isLost = watches[origin]?.record(count.connections, areShared: count.streams != nil, on: engine) == true
            return isLost ? watches[origin]?.whenLost : nil
        }

        /// Adds an engine. Returns the first engine if it must close its idle connections.
        mutating func add(_ engine: ExchangeEngine) -> ExchangeEngine? {
            engines.append(engine)
            let engines = engines
            isBusy = { engines[$0].isBusy }
            return scheduler.addEngine { $0.exchange.engine.index } ? engines.first : nil
        }
    }

    private let limits: ConnectionLimits
    /// The number of engines on which an origin may have connections, whatever connections it has.
    let enginesPerOrigin: Int
    private let state: Locked<State>

    init(limits: ConnectionLimits) {
        let scheduler = Scheduler(limits: limits)
        self.limits = scheduler.limits
        enginesPerOrigin = scheduler.enginesPerOrigin
        state = Locked(State(scheduler: scheduler))
    }

    // MARK: Engines

    /// The number of engines that get requests without a connection.
    var activeCount: Int { state.withLock { $0.scheduler.activeCount } }

    /// Adds an engine. With the second engine, the admission begins to count which engine has which connections; the first engine closes
    /// its idle connections, which were not counted.
    func add(_ engine: ExchangeEngine) {
        // The reference is to the state, because a weak one slows down every other reference, and exchanges refer to the admission.
        engine.onCount { [weak state, index = engine.index] counts in
            guard let state else { return }
            let (losses, grants) = state.withLock { $0.count(counts, on: index) }
            for loss in losses { loss() }
            Self.deliver(grants, in: state)
        } mayAdd: { [weak state, index = engine.index] origin, count in
            state?.withLock { $0.scheduler.mayUse(count, to: origin, on: index) } ?? true
        }
        state.withLock { $0.add(engine) }?.closeIdleConnections(to: nil)
    }

    /// Sets the number of engines that get requests without a connection; at most all engines that were added.
    func activate(_ count: Int) { state.withLock { $0.scheduler.activeCount = min(count, $0.engines.count) } }

    /// Calls a closure whenever connections to an origin were closed, and there are fewer than a number.
    func watch(_ origin: String, below minimum: Int, whenLost: @escaping @Sendable () -> Void) {
        state.withLock { $0.watches[origin] = Watch(minimum: minimum, whenLost: whenLost) }
    }

    /// Returns whether a watched origin has too few connections: one may have been lost before the others were made.
    func isShort(_ origin: String) -> Bool { state.withLock { $0.watches[origin]?.isShort ?? false } }

    /// Returns the engine on which a request to an origin begins: one with an idle connection, unless it is busy, or else the one with
    /// least to do.
    ///
    /// - Parameters:
    ///   - origin: The queue of the request; `nil` if it is not known yet.
    ///   - preferred: The engine that the task of the request prefers, if any.
    func engine(for origin: String?, preferred: Int? = nil) -> ExchangeEngine {
        state.withLock { state in
            state.engines[state.scheduler.engine(for: origin, preferred: preferred, isBusy: state.isBusy)]
        }
    }

    /// Returns the number of connections of a queue that requests use.
    func connectionsInUse(of queue: String) -> Int {
        state.withLock { state in
            state.scheduler.indices[queue].map { state.scheduler.origins[$0].connections } ?? 0
        }
    }

    // MARK: Slots

    /// Requests a slot on the exchange's engine. Returns the index of its origin in the queue.
    func enter(_ exchange: ExchangeActor) -> (originIndex: Scheduler.OriginIndex, result: Result) {
        let prepared = exchange.prepared
        let mayShare = prepared.mayShareConnection
        let applicant = Applicant(exchange: exchange)
        let hint = prepared.wire.url.queueHint
        let entry = state.withLock { state in
            state.scheduler.enter(
                applicant, on: exchange.engine.index, origin: prepared.wire.queue, mayShare: mayShare,
                priority: prepared.source.priority, hint: hint)
        }
        if entry.originIndex.value != hint { prepared.wire.url.queueHint = entry.originIndex.value }
        guard entry.isAdmitted else {
            // Also for a request that is shed: the hold would not end, and the next ones would be shed because of it.
            if entry.isHolding { updateHold(on: exchange.engine) }
            if limits.mayShed, let error = shed(for: exchange, at: entry.originIndex) {
                return (entry.originIndex, .shed(error))
            }
            return (entry.originIndex, .coming(hasSlot: false))
        }
        guard let closing = entry.closing else { return (entry.originIndex, .admitted(isProbing: entry.isProbing)) }
        Self.deliver(to: exchange, isProbing: entry.isProbing, after: closing, in: state)
        return (entry.originIndex, .coming(hasSlot: true))
    }

    /// Removes the exchange from the queue that has to give way because a new one waits, and fails it. Returns the error if it is the new
    /// one.
    @inline(never)
    private func shed(for exchange: ExchangeActor, at originIndex: Scheduler.OriginIndex) -> TrellisError? {
        let prepared = exchange.prepared
        let deadline = prepared.limits.total.map { prepared.start.advanced(byNanoseconds: $0) }
        let shed = state.withLock { [now = exchange.executor.now] in
            $0.scheduler.shed(
                for: Applicant(exchange: exchange), at: originIndex, prepared.source.priority, deadline: deadline,
                now: now)
        }
        guard let shed else { return nil }
        let error = TrellisError(
            .limited(
                .shed(
                    origin: prepared.origin, ahead: shed.ahead,
                    wait: shed.wait.map { .nanoseconds(Int64(clamping: $0)) })))
        if shed.id.exchange === exchange { return error }
        shed.id.exchange.submit { $0.wasShed(error) }
        return nil
    }

    /// Whether the times for which exchanges hold their slots are measured.
    var measures: Bool { limits.shedsLateRequests }

    /// Records that an exchange has got its slot, if that is measured.
    func measureBegin(at originIndex: Scheduler.OriginIndex, now: EngineInstant) {
        state.withLock { $0.scheduler.measureBegin(at: originIndex, now: now) }
    }

    /// Records for how long an exchange has held its slot, before it releases it.
    func measureEnd(at originIndex: Scheduler.OriginIndex, after held: Int64, now: EngineInstant) {
        state.withLock { $0.scheduler.measureEnd(at: originIndex, after: UInt64(max(held, 0)), now: now) }
    }

    /// Grants slots to the waiting exchanges that the first connection to their origin has room for.
    func didProbe(_ exchange: ExchangeActor, at originIndex: Scheduler.OriginIndex, isShared: Bool) {
        let (grants, isHolding) = state.withLock { state in
            let grants = state.scheduler.probed(Applicant(exchange: exchange), at: originIndex, isShared: isShared)
            return (grants, state.scheduler.isHolding)
        }
        Self.deliver(grants, in: state)
        if isHolding { updateHold(on: exchange.engine) }
    }

    /// Removes a waiting exchange from the queue; does nothing if the exchange does not wait.
    func leave(_ exchange: ExchangeActor, at originIndex: Scheduler.OriginIndex) {
        state.withLock { $0.scheduler.leave(Applicant(exchange: exchange), at: originIndex) }
    }

    /// Releases the slot of an exchange, and grants it to a waiting exchange.
    ///
    /// - Parameter isShared: Whether several requests can share the connection; `nil` if not known.
    func release(_ exchange: ExchangeActor, at originIndex: Scheduler.OriginIndex, isShared: Bool?) {
        let (grants, isHolding) = state.withLock { state in
            let grants = state.scheduler.release(
                Applicant(exchange: exchange), at: originIndex, on: exchange.engine.index, isShared: isShared)
            return (grants, state.scheduler.isHolding)
        }
        Self.deliver(grants, in: state)
        if isHolding { updateHold(on: exchange.engine) }
    }

    /// Lets exchanges take the idle connections of other origins if their time to wait is over, and otherwise sets the timer for that. Call
    /// on the thread of the engine.
    private func updateHold(on engine: ExchangeEngine) {
        let (grants, end) = state.withLock { [now = engine.executor.now] in $0.updateHold(now: now) }
        Self.deliver(grants, in: state)
        guard let end else { return }
        engine.executor.engineLoop.set(EngineTimer(HoldTimer { [self] in updateHold(on: engine) }), at: end)
    }

    private final class HoldTimer: EngineTimerTarget, Sendable {
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func timerIsDue() { body() }
    }

    /// Notifies the exchanges that get slots, each in another job of its engine, because the caller that released the slot has not finished
    /// its work.
    private static func deliver(_ grants: [Scheduler.Grant], in state: Locked<State>) {
        for grant in grants {
            let exchange = grant.id.exchange
            guard let closing = grant.closing else {
                exchange.submit { $0.didGetSlot(isProbing: false) }
                continue
            }
            deliver(to: exchange, isProbing: false, after: closing, in: state)
        }
    }

    /// Notifies an exchange that has a slot as soon as an idle connection is closed.
    @inline(never)
    private static func deliver(
        to exchange: ExchangeActor, isProbing: Bool, after closing: Scheduler.Closing, in state: Locked<State>
    ) {
        let engine = state.withLock { $0.engines[closing.engine] }
        engine.closeIdleConnections(to: closing.origin) { exchange.submit { $0.didGetSlot(isProbing: isProbing) } }
    }

    /// Returns the words for connections that carry as many requests as they may.
    private static func fullConnections(_ count: Int, to origin: String, _ streams: Int) -> String {
        let carriers =
            count == 1 ? "the connection to \(origin) carries" : "all \(count) connections to \(origin) carry"
        return "\(carriers) as many requests as the server allows (\(streams) each)"
    }

    /// Returns the reason why an exchange waits, for errors.
    func reasonForWaiting(_ exchange: ExchangeActor, at originIndex: Scheduler.OriginIndex) -> String {
        let origin = exchange.prepared.origin
        let applicant = Applicant(exchange: exchange)
        let (isProbed, streams, count, active, ahead, isFirst, isNext) = state.withLock { state in
            (
                state.scheduler.prober(at: originIndex) != nil, state.scheduler.streamCount(at: originIndex),
                state.scheduler.connectionCount(at: originIndex), state.scheduler.activeCount(at: originIndex),
                state.scheduler.countAhead(of: applicant, at: originIndex),
                state.scheduler.isFirst(applicant, at: originIndex), state.scheduler.isNext(originIndex)
            )
        }
        if isProbed { return "the first connection to \(origin) is being made" }
        let isAtRequestLimit = active >= limits.requestsPerOrigin ?? .max
        guard isAtRequestLimit || count >= (streams == nil ? limits.perOrigin : limits.sharedPerOrigin) else {
            // Requests to other origins may be ahead as well: their number is not known.
            let reason = "all \(limits.total) connections of the session are in use"
            return isFirst && isNext ? reason + ", and it is next" : reason
        }
        let reason =
            isAtRequestLimit
            ? "\(active) requests to \(origin) are in flight, which is the limit"
            : streams.map { Self.fullConnections(count, to: origin, $0) }
                ?? "all \(count) connections to \(origin) are in use"
        switch ahead {
        // Requests on other engines are ahead, unless it is the first one: their number is not known.
        case 0: return isFirst ? reason + ", and it is next" : reason
        case 1: return reason + ", and 1 request is ahead of it"
        default: return reason + ", and \(ahead) requests are ahead of it"
        }
    }
}
