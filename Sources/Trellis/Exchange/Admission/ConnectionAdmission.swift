import CurlEngine
import Synchronization

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

    typealias Place = AdmissionQueue<Applicant>.Place

    /// The result of a request for a connection slot.
    enum Result {
        /// The exchange has a slot on its engine.
        ///
        /// - Parameter isProbing: Indicates whether other exchanges wait until the connection of this one shows whether it can be shared.
        case admitted(isProbing: Bool)
        /// The exchange gets its slot later, through ``ExchangeActor/didGetSlot(on:isProbing:)``.
        ///
        /// - Parameter ticket: The number of the exchange in the queue.
        case waiting(ticket: Int)
    }

    /// A slot for an exchange that waits.
    private struct Grant {
        let exchange: ExchangeActor
        let engine: ExchangeEngine
        var isProbing = false
        /// The engine that closes an idle connection before the exchange may open its own, and the origin of that connection.
        var closing: (engine: ExchangeEngine, origin: String)?

        /// Notifies the exchange, in an engine job of its own, because the caller that released the slot has not finished its own work.
        func deliver() {
            let (exchange, engine, isProbing) = (exchange, engine, isProbing)
            guard let closing else { return exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing) } }
            let delivery = LateDelivery { exchange.submit { $0.didGetSlot(on: engine, isProbing: isProbing) } }
            closing.engine.closeIdleConnections(to: closing.origin) { delivery.deliver() }
            guard !delivery.isDelivered else { return }
            let executor = exchange.entrance
            executor.submit {
                guard !delivery.isDelivered else { return }
                executor.engineLoop.set(EngineTimer(delivery), at: executor.now.advanced(by: LateDelivery.patience))
            }
        }
    }

    /// The delivery of a grant that waits until another engine has closed a connection. The engine may become stuck, and so the delivery
    /// waits only for a moment: one connection too many is better than a request that waits for an unknown time.
    private final class LateDelivery: EngineTimerTarget, Sendable {
        static let patience = Duration.milliseconds(100)

        private let body: @Sendable () -> Void
        private let delivered = Atomic(false)

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        var isDelivered: Bool { delivered.load(ordering: .relaxed) }

        /// Delivers the grant, once.
        func deliver() { if !delivered.exchange(true, ordering: .relaxed) { body() } }

        func timerIsDue() { deliver() }
    }

    private let limits: ConnectionLimits
    private let state: Locked<State>

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
        let first = state.withLock { $0.add(engine) }
        first?.closeIdleConnections(to: nil)
    }

    /// Sets the number of engines that get requests without a connection; at most all engines that were added.
    func activate(_ count: Int) { state.withLock { $0.loads.activeCount = min(count, $0.loads.requests.count) } }

    /// Returns the engine on which a request to an origin begins: one with an idle connection, or else the one with least to do.
    ///
    /// - Parameter origin: The queue of the request; `nil` if it is not known yet.
    func engine(for origin: String?) -> ExchangeEngine { state.withLock { $0.engine(for: origin) } }

    // MARK: Slots

    /// Requests a slot on the exchange's engine. Returns the place of the exchange in the queue.
    ///
    /// - Parameter ticket: The earlier number in the queue of an exchange that has lost its turn; `nil` for a new one.
    func enter(_ exchange: ExchangeActor, ticket: Int? = nil) -> (place: Place, result: Result) {
        let prepared = exchange.prepared
        let mayShare = prepared.mayShareConnection && LibcurlFeatures.current.canMultiplex
        let applicant = Applicant(exchange: exchange)
        let hint = prepared.wire.url.queueHint
        let (entry, grant, mustWatch) = state.withLock { state -> (AdmissionQueue<Applicant>.Entry, Grant?, Bool) in
            let entry = state.queue.enter(
                applicant, origin: prepared.queue, mayShare: mayShare,
                priority: prepared.source.priority, ticket: ticket, hint: hint)
            if !state.lost.isEmpty { state.lost.remove(applicant) }
            guard state.isSpread else { return (entry, nil, false) }
            guard entry.isAdmitted else { return (entry, nil, state.watchesProbe(exchange, at: entry.place)) }
            return (entry, state.grant(exchange, at: entry.place, isProbing: entry.isProbing), false)
        }
        if entry.place.index != hint { prepared.wire.url.queueHint = entry.place.index }
        guard entry.isAdmitted else {
            if entry.isHolding { updateHold(on: exchange.executor) }
            if mustWatch { watchProbe(at: entry.place, on: exchange.executor) }
            return (entry.place, .waiting(ticket: entry.ticket))
        }
        guard let grant, grant.engine !== exchange.home || grant.closing != nil else {
            return (entry.place, .admitted(isProbing: entry.isProbing))
        }
        grant.deliver()
        return (entry.place, .waiting(ticket: entry.ticket))
    }

    /// Grants slots to the waiting exchanges for which the first connection to their origin has room.
    func didProbe(_ exchange: ExchangeActor, at place: Place, isShared: Bool) {
        let (grants, isHolding) = state.withLock { state -> ([Grant], Bool) in
            let applicants = state.queue.probed(Applicant(exchange: exchange), at: place, isShared: isShared)
            return (state.grants(applicants), state.queue.isHolding)
        }
        deliver(grants)
        if isHolding { updateHold(on: exchange.executor) }
    }

    /// Removes a waiting exchange from the queue; does nothing if the exchange does not wait.
    func leave(_ exchange: ExchangeActor, at place: Place) {
        state.withLock { state in
            state.queue.leave(Applicant(exchange: exchange), at: place)
            state.lost.remove(Applicant(exchange: exchange))
        }
    }

    /// Returns whether an exchange has lost its turn, and has neither entered the queue again nor left it since.
    func hasLostTurn(_ exchange: ExchangeActor) -> Bool {
        state.withLock { $0.lost.contains(Applicant(exchange: exchange)) }
    }

    /// Releases a slot of an exchange, and grants it to a waiting exchange.
    ///
    /// - Parameters:
    ///   - engine: The engine on which the exchange had the slot.
    ///   - isShared: Indicates whether several requests can share the connection; `nil` if not known.
    func release(_ exchange: ExchangeActor, at place: Place, on engine: ExchangeEngine, isShared: Bool?) {
        let (grants, isHolding) = state.withLock { state -> ([Grant], Bool) in
            if state.isSpread { state.release(at: place, on: engine.index) }
            let applicants = state.queue.release(
                Applicant(exchange: exchange), at: place, on: engine.index, isShared: isShared)
            return (state.grants(applicants), state.queue.isHolding)
        }
        deliver(grants)
        if isHolding { updateHold(on: exchange.executor) }
    }

    /// Lets exchanges take the idle connections of other origins if their time to wait is over, and otherwise sets the timer for that.
    private func updateHold(on executor: EngineExecutor) {
        let now = executor.now
        let (grants, end) = state.withLock { state in state.updateHold(now: now) }
        deliver(grants)
        guard let end else { return }
        setTimer(on: executor, at: end) { [self] in updateHold(on: executor) }
    }

    /// Looks at the engine that makes the first connection to an origin, a moment later and again until the connection is made. Exchanges
    /// on other engines do not wait for an engine that is stuck.
    private func watchProbe(at place: Place, on executor: EngineExecutor) {
        setTimer(on: executor, at: executor.now.advanced(by: .milliseconds(100))) { [self] in
            let (grants, isOver) = state.withLock { state in state.lookAtProbe(place) }
            deliver(grants)
            if !isOver { watchProbe(at: place, on: executor) }
        }
    }

    private func setTimer(
        on executor: EngineExecutor, at deadline: EngineInstant, _ body: @escaping @Sendable () -> Void
    ) {
        let timer = AdmissionTimer(body)
        executor.submit { executor.engineLoop.set(EngineTimer(timer), at: deadline) }
    }

    private final class AdmissionTimer: EngineTimerTarget, Sendable {
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func timerIsDue() { body() }
    }

    private func deliver(_ grants: [Grant]) {
        for grant in grants { grant.deliver() }
    }

    /// Returns the reason why an exchange waits, for errors.
    func reasonForWaiting(_ exchange: ExchangeActor, at place: Place) -> String {
        let origin = exchange.prepared.origin
        let (isProbed, count, ahead, isNext) = state.withLock { state in
            (
                state.queue.prober(at: place) != nil, state.queue.connectionCount(at: place),
                state.queue.countAhead(of: Applicant(exchange: exchange), at: place), state.queue.isNext(place)
            )
        }
        if isProbed { return "the first connection to \(origin) is being made" }
        guard count >= limits.perOrigin else {
            // Requests to other origins may be ahead as well: their number is not known.
            let reason = "all \(limits.total) connections of the session are in use"
            return ahead == 0 && isNext ? reason + ", and it is next" : reason
        }
        let reason = "all \(count) connections to \(origin) are in use"
        switch ahead {
        case 0: return reason + ", and it is next"
        case 1: return reason + ", and 1 request is ahead of it"
        default: return reason + ", and \(ahead) requests are ahead of it"
        }
    }
}

extension ConnectionAdmission {
    /// The state that the lock guards.
    private struct State {
        private let limits: ConnectionLimits
        var queue: AdmissionQueue<Applicant>
        private var engines: [ExchangeEngine] = []
        /// The exchanges whose turn came while their engines were stuck, until they enter the queue again.
        var lost: Set<Applicant> = []
        var loads = EngineLoads(requests: [], activeCount: 1) { _ in false }
        /// The number of open connections on all engines, for all origins.
        private var openCount = 0
        /// The instant at which origins no longer leave idle connections to others; `nil` if none does so.
        private var holdEnd: EngineInstant?
        /// The places whose first connection is being made, and for which a timer looks at the engine that makes it.
        private var watchedProbes: Set<Place> = []
        /// The interval at which holds end. An exchange waits for one to two intervals at most.
        private static var holdTime: Duration { .milliseconds(5) }

        init(_ limits: ConnectionLimits) {
            self.limits = limits
            queue = AdmissionQueue(limits: limits)
        }

        /// Indicates whether the session has several engines. With one engine, libcurl alone knows the connections.
        var isSpread: Bool { engines.count > 1 }

        /// Adds an engine. Returns the first engine if it must close its idle connections.
        mutating func add(_ engine: ExchangeEngine) -> ExchangeEngine? {
            engines.append(engine)
            loads.requests.append(0)
            let engines = engines
            loads = EngineLoads(requests: loads.requests, activeCount: loads.activeCount) {
                engines[$0].executor.isStuck
            }
            guard engines.count == 2 else { return nil }
            queue.spread { $0.exchange.home.index }
            for place in queue.places {
                let active = queue.activeCount(at: place)
                guard active > 0 else { continue }
                queue[spreadAt: place].adopt(active: active, connections: queue.connectionCount(at: place), on: 0)
                loads.requests[0] += active
                openCount += queue.connectionCount(at: place)
            }
            return engines[0]
        }

        mutating func engine(for origin: String?) -> ExchangeEngine {
            guard let origin, let place = queue.place(of: origin) else { return engines[loads.relieving(0)] }
            let streams = queue.streams(at: place)
            if let index = queue[spreadAt: place].engineWithRoom(streams: streams, loads) { return engines[index] }
            let count = queue[spreadAt: place].openCount
            guard streams == 1, count >= engines.count, queue.isFull(place),
                let largest = queue[spreadAt: place].largest
            else { return engines[loads.relieving(0)] }
            // The request waits for a connection: where most of them are, unless these engines have much more to do.
            let relief = loads.relieving(largest)
            guard relief == largest, let next = queue[spreadAt: place].engineInTurn(), !loads.isStuck(next) else {
                return engines[relief]
            }
            return engines[next]
        }

        mutating func grants(_ applicants: [Applicant]) -> [Grant] {
            if applicants.isEmpty { return [] }
            guard isSpread else {
                return applicants.map { Grant(exchange: $0.exchange, engine: $0.exchange.home) }
            }
            var (grants, waiting, index) = ([Grant](), applicants, 0)
            while index < waiting.count {
                let applicant = waiting[index]
                index += 1
                let exchange = applicant.exchange
                if exchange.entrance.isStuck, let place = queue.place(of: exchange.prepared.queue) {
                    // The engine of the exchange cannot pass the slot on, so another exchange gets it.
                    lost.insert(applicant)
                    waiting += queue.release(applicant, at: place, isShared: nil)
                    exchange.submit { $0.didLoseTurn() }
                } else {
                    grants.append(grant(exchange, at: nil, isProbing: false))
                }
            }
            return grants
        }

        /// Chooses the engine of an exchange that gets a slot.
        ///
        /// - Parameter place: The place of the exchange; if `nil`, the place of its origin.
        mutating func grant(_ exchange: ExchangeActor, at place: Place?, isProbing: Bool) -> Grant {
            guard let place = place ?? queue.place(of: exchange.prepared.queue) else {
                return Grant(exchange: exchange, engine: exchange.home)
            }
            let before = queue[spreadAt: place].openCount
            let room = max(limits.total - openCount, 0)
            let choice = queue[spreadAt: place].take(
                home: exchange.home.index, streams: queue.streams(at: place),
                limit: min(limits.perOrigin, before + room), mobility: exchange.mobility, engines: loads)
            openCount += queue[spreadAt: place].openCount - before
            loads.requests[choice.engine] += 1
            var grant = Grant(exchange: exchange, engine: engines[choice.engine], isProbing: isProbing)
            if let closing = choice.closes {
                grant.closing = (engines[closing], queue.origin(at: place))
            } else if choice.opens, openCount > limits.total {
                grant.closing = closeIdleConnection()
            }
            if let closing = grant.closing, loads.isStuck(closing.engine.index) {
                // The exchange does not wait for an engine that is stuck.
                closing.engine.closeIdleConnections(to: closing.origin)
                grant.closing = nil
            }
            return grant
        }

        /// Ends the hold of idle connections if its time is over. Returns the slots that are granted, and the instant for a timer; `nil` if
        /// no timer is needed.
        mutating func updateHold(now: EngineInstant) -> ([Grant], EngineInstant?) {
            if let holdEnd, now < holdEnd { return ([], nil) }
            let granted = holdEnd == nil ? [] : grants(queue.endHold())
            holdEnd = queue.isHolding ? now.advanced(by: Self.holdTime) : nil
            return (granted, holdEnd)
        }

        /// Returns whether the first connection to an origin must be watched for an exchange that waits for it, because it is being made
        /// on another engine.
        mutating func watchesProbe(_ exchange: ExchangeActor, at place: Place) -> Bool {
            guard let prober = queue.prober(at: place), prober.exchange.home !== exchange.home else { return false }
            return watchedProbes.insert(place).inserted
        }

        /// Ends the wait for the first connection to an origin if the engine that makes it is stuck. Returns the slots that are granted,
        /// and whether the connection need no longer be watched.
        mutating func lookAtProbe(_ place: Place) -> ([Grant], isOver: Bool) {
            let prober = queue.prober(at: place)
            if let prober, !prober.exchange.home.executor.isStuck { return ([], false) }
            watchedProbes.remove(place)
            return (prober == nil ? [] : grants(queue.giveUpProbe(at: place)), true)
        }

        mutating func release(at place: Place, on engine: Int) {
            queue[spreadAt: place].release(on: engine)
            loads.requests[engine] -= 1
        }

        mutating func closeAllIdle(on engine: Int) {
            guard isSpread else { return }
            for place in queue.places {
                let before = queue[spreadAt: place].openCount
                queue[spreadAt: place].closeAllIdle(on: engine, streams: queue.streams(at: place))
                openCount += queue[spreadAt: place].openCount - before
                queue.forgetIfUnused(place)
            }
        }

        /// Chooses an idle connection to be closed, of the origin that was used least recently; `nil` if there is none.
        private mutating func closeIdleConnection() -> (engine: ExchangeEngine, origin: String)? {
            guard let place = queue.leastRecentlyIdle,
                let engine = queue[spreadAt: place].engineWithIdleConnection(streams: queue.streams(at: place))
            else { return nil }
            queue[spreadAt: place].closeIdle(on: engine)
            openCount -= 1
            let origin = queue.origin(at: place)
            queue.forgetIfUnused(place)
            return (engines[engine], origin)
        }
    }
}
