/// The bound on the connections that carry streams, over all engines of a session: to one origin, and in total. It concerns only origins
/// whose connections may be shared, over HTTP/2 and HTTP/3.
///
/// Each connection in use has a place. Engines without one wait: within an origin in the order of their requests, and origins in turn. An
/// engine returns an unused place by ``end(_:for:)``, which passes it on. An idle connection counts only while another engine makes one:
/// then it is closed in exchange.
///
/// Connections under constant load would never become unused. For each engine that waits without a place for its origin, or with at least
/// two places fewer, the bound requests one from the engine and origin with the most.
package final class ConnectionBudget: Sendable {
    /// The maximum number of connections to one origin that are in use.
    package let perOrigin: Int
    /// The maximum number of connections that are in use.
    package let total: Int

    /// The places of one engine for one origin.
    private struct Holder {
        let gate: any ConnectionReceiver
        var count = 0
        /// The number of places that were requested for others.
        var owed = 0
        /// The number of connections that are open and not in use.
        var idle = 0
        /// The number of idle connections that the gate is about to close, because they became idle after their places were passed on.
        var closing = 0
        /// The turn in which the first place was taken.
        var turn: UInt64 = 0

        /// The number of idle connections that stay open.
        var kept: Int { max(idle - closing, 0) }
    }

    /// The result of a request for a place.
    enum Entry {
        /// The gate has the place.
        case granted
        /// The gate gets the place as soon as this holder has closed an idle connection.
        case afterClosing(any ConnectionReceiver)
        /// The bound is reached, and the gate gets the place later.
        case waiting
    }

    private final class Origin: @unchecked Sendable {
        // Unchecked: the properties are only accessed inside the lock.

        let name: String
        var inUse = 0
        /// The gates that wait for a place.
        var line = FIFO<any ConnectionReceiver>()
        /// Whether `ready` lists the origin.
        var isReady = false
        var holders: [Holder] = []

        init(_ name: String) { self.name = name }

        /// The number of places that were requested from the holders for others.
        var owed: Int { holders.reduce(0) { $0 + $1.owed } }

        /// Returns the index of a holder with an idle connection, other than a gate, if the connections in use and those idle ones exceed
        /// a limit; `nil` otherwise.
        func index(ofIdleBeyond limit: Int, besides gate: any ConnectionReceiver) -> Int? {
            guard holders.reduce(inUse, { $0 + ($1.gate === gate ? 0 : $1.kept) }) > limit else { return nil }
            return holders.firstIndex { $0.kept > 0 && $0.gate !== gate }
        }

        /// Returns whether a gate must close an idle connection, because all connections exceed a limit and some in use are of other gates.
        func mustCloseIdle(of gate: any ConnectionReceiver, beyond limit: Int) -> Bool {
            guard let own = index(of: gate), holders[own].kept > 0, inUse > holders[own].count else { return false }
            return holders.reduce(inUse) { $0 + $1.kept } > limit
        }

        func index(of gate: any ConnectionReceiver) -> Int? { holders.firstIndex { $0.gate === gate } }

        /// Changes the numbers of a holder, which is forgotten if it has no connections.
        func modify(_ gate: any ConnectionReceiver, _ change: (inout Holder) -> Void) {
            let index = index(of: gate) ?? holders.endIndex
            if index == holders.endIndex { holders.append(Holder(gate: gate)) }
            change(&holders[index])
            let holder = holders[index]
            if holder.count == 0, holder.idle == 0, holder.closing == 0 { holders.remove(at: index) }
        }
    }

    private struct State {
        var inUse = 0
        var origins: [String: Origin] = [:]
        /// The origins with waiting gates that only the total holds back, in the order of their turns.
        var ready = FIFO<Origin>()
        /// The number of gates that wait, once for each origin.
        var waitingCount = 0
        /// The number of places that were requested from holders for others.
        var owed = 0
        var lastTurn: UInt64 = 0

        /// Returns an origin, which is added if it is new.
        mutating func origin(_ name: String) -> Origin {
            if let origin = origins[name] { return origin }
            let origin = Origin(name)
            origins[name] = origin
            return origin
        }
    }

    /// A notification of a gate, sent after the lock was released.
    private struct Notice {
        let gate: any ConnectionReceiver
        let origin: String
        /// Whether the gate gets a place. Otherwise the number of places that are requested from the gate has changed.
        let isGrant: Bool
        /// The holder that closes an idle connection first; `nil` if none must.
        var closing: (any ConnectionReceiver)?

        func send() {
            guard isGrant else { return gate.requestConnections(of: origin) }
            guard let closing else { return gate.grantConnection(to: origin) }
            gate.grantConnection(to: origin, afterClosingBy: closing)
        }
    }

    private let state = Locked(State())

    /// Creates a bound.
    package init(perOrigin: Int = 64, total: Int = 256) {
        self.perOrigin = max(perOrigin, 1)
        self.total = max(total, 1)
    }

    /// Returns the number of connections to an origin that are in use.
    package func inUseCount(_ origin: String) -> Int { state.withLock { $0.origins[origin]?.inUse ?? 0 } }

    /// Returns the number of places that are requested from a gate for others.
    func owedCount(_ name: String, by gate: any ConnectionReceiver) -> Int {
        state.withLock { state in
            guard let origin = state.origins[name], let index = origin.index(of: gate) else { return 0 }
            return origin.holders[index].owed
        }
    }

    // MARK: Taking and returning

    /// Takes a place for a connection, or requests one that is granted to `gate` later, once.
    func begin(_ name: String, for gate: any ConnectionReceiver) -> Entry {
        let (entry, request) = state.withLock { state -> (Entry, Notice?) in
            let origin = state.origin(name)
            // Free places are granted at once, so that none is free while a gate waits for it.
            guard state.inUse < total, origin.inUse < perOrigin else {
                origin.line.append(gate)
                state.waitingCount += 1
                makeReady(origin, &state)
                return (.waiting, requestPlace(origin, for: gate, &state))
            }
            let usesIdle = count(origin, for: gate, in: &state)
            return (usesIdle ? .granted : takeIdle(origin, for: gate).map(Entry.afterClosing) ?? .granted, nil)
        }
        request?.send()
        return entry
    }

    /// Takes a place for a connection if one is free, and no idle connection must be closed for it. Returns whether the gate has the place.
    func beginAtOnce(_ name: String, for gate: any ConnectionReceiver) -> Bool {
        state.withLock { state in
            let origin = state.origin(name)
            guard state.inUse < total, origin.inUse < perOrigin,
                origin.index(ofIdleBeyond: perOrigin - 1, besides: gate) == nil
            else { return false }
            count(origin, for: gate, in: &state)
            return true
        }
    }

    /// Sets the number of a gate's idle connections to an origin. The gate closes one of them if there are more connections than the limit:
    /// a place may have been passed on to another gate before its connection became idle.
    func setIdle(_ name: String, _ idle: Int, for gate: any ConnectionReceiver) {
        let mustClose = state.withLock { state -> Bool in
            let origin = state.origin(name)
            origin.modify(gate) { $0.idle = idle }
            let mustClose = origin.mustCloseIdle(of: gate, beyond: perOrigin)
            if mustClose { origin.modify(gate) { $0.closing += 1 } }
            forgetIfUnused(origin, &state)
            return mustClose
        }
        guard mustClose else { return }
        gate.closeIdleConnection(to: name) { [self] in
            state.withLock { state in
                let origin = state.origin(name)
                origin.modify(gate) { $0.closing -= 1 }
                forgetIfUnused(origin, &state)
            }
        }
    }

    /// Returns the holder of an idle connection that must be closed before a gate makes its connection, because of the limit; `nil` if none
    /// must.
    private func takeIdle(_ origin: Origin, for gate: any ConnectionReceiver) -> (any ConnectionReceiver)? {
        guard let index = origin.index(ofIdleBeyond: perOrigin, besides: gate) else { return nil }
        let holder = origin.holders[index].gate
        origin.modify(holder) { $0.idle -= 1 }
        return holder
    }

    /// Counts a connection that exists already, whether the bound is reached or not. Returns whether the bound is kept.
    func add(_ name: String, for gate: any ConnectionReceiver) -> Bool {
        state.withLock { state in
            let origin = state.origin(name)
            count(origin, for: gate, in: &state)
            return state.inUse <= total && origin.inUse <= perOrigin
        }
    }

    /// Returns whether no more connections are in use than the bound allows, in total and to an origin.
    func isKept(_ name: String) -> Bool {
        state.withLock { $0.inUse <= total && ($0.origins[name]?.inUse ?? 0) <= perOrigin }
    }

    /// Returns a place, which the next gate in line gets.
    ///
    /// - Parameter idle: The number of the gate's idle connections to the origin.
    func end(_ name: String, for gate: any ConnectionReceiver, idle: Int = 0) {
        let notices = state.withLock { state -> [Notice] in
            let origin = state.origin(name)
            uncount(origin, for: gate, idle: idle, in: &state)
            guard state.waitingCount > 0 else {
                forgetIfUnused(origin, &state)
                return []
            }
            makeReady(origin, &state)
            var notices: [Notice] = []
            if let (granted, notice) = grant(&state) {
                notices.append(notice)
                if let request = requestPlaceForNext(after: granted, &state) { notices.append(request) }
                if state.waitingCount == 0 { notices += withdrawRequests(&state) }
            }
            forgetIfUnused(origin, &state)
            return notices
        }
        for notice in notices { notice.send() }
    }

    /// Counts a place of a gate. Returns whether the gate uses one of its idle connections for it.
    @discardableResult
    private func count(_ origin: Origin, for gate: any ConnectionReceiver, in state: inout State) -> Bool {
        state.inUse += 1
        origin.inUse += 1
        state.lastTurn += 1
        let turn = state.lastTurn
        var usesIdle = false
        origin.modify(gate) { holder in
            if holder.count == 0 { holder.turn = turn }
            holder.count += 1
            // libcurl uses an idle connection before it makes one.
            usesIdle = holder.kept > 0
            if holder.idle > 0 { holder.idle -= 1 }
        }
        return usesIdle
    }

    private func uncount(_ origin: Origin, for gate: any ConnectionReceiver, idle: Int, in state: inout State) {
        state.inUse -= 1
        origin.inUse -= 1
        guard origin.index(of: gate) != nil else { return }
        var isOwed = false
        origin.modify(gate) { holder in
            holder.count -= 1
            holder.idle = idle
            isOwed = holder.owed > 0
            if isOwed { holder.owed -= 1 }
        }
        if isOwed { state.owed -= 1 }
    }

    /// The number of origins up to which unused ones are kept: often, the next request to an origin follows at once.
    private static let keptOrigins = 32

    private func forgetIfUnused(_ origin: Origin, _ state: inout State) {
        guard origin.inUse == 0, !origin.isReady, origin.holders.isEmpty else { return }
        if state.origins.count > Self.keptOrigins { state.origins[origin.name] = nil }
    }

    // MARK: Waiting

    private func makeReady(_ origin: Origin, _ state: inout State) {
        guard !origin.isReady, !origin.line.isEmpty, origin.inUse < perOrigin else { return }
        origin.isReady = true
        state.ready.append(origin)
    }

    /// Counts a place for the next waiting gate. Returns its origin and the notification; `nil` if there is no room, or none waits.
    private func grant(_ state: inout State) -> (Origin, Notice)? {
        while state.inUse < total, let origin = state.ready.popFirst() {
            origin.isReady = false
            // Connections that existed already may have taken the origin's room.
            guard origin.inUse < perOrigin, let gate = origin.line.popFirst() else { continue }
            state.waitingCount -= 1
            let usesIdle = count(origin, for: gate, in: &state)
            makeReady(origin, &state)
            let closing = usesIdle ? nil : takeIdle(origin, for: gate)
            return (origin, Notice(gate: gate, origin: origin.name, isGrant: true, closing: closing))
        }
        return nil
    }

    // MARK: Fairness

    /// Requests a place for a waiting gate, unless enough places are requested already. Returns the notification of its holder; `nil` if
    /// there is no request.
    private func requestPlace(_ origin: Origin, for gate: any ConnectionReceiver, _ state: inout State) -> Notice? {
        let isOriginFull = origin.inUse >= perOrigin
        guard isOriginFull ? origin.owed < origin.line.count : state.owed < state.ready.count else {
            return nil
        }
        let own = origin.index(of: gate).map { origin.holders[$0].count } ?? 0
        let needed = own == 0 ? 1 : own + 2
        var best: (origin: Origin, index: Int, count: Int, turn: UInt64)?
        func consider(_ origin: Origin) {
            for (index, holder) in origin.holders.enumerated() where holder.count - holder.owed >= needed {
                let count = holder.count - holder.owed
                let isBest = best.map { count > $0.count || count == $0.count && holder.turn < $0.turn } ?? true
                guard isBest else { continue }
                best = (origin, index, count, holder.turn)
            }
        }
        if isOriginFull { consider(origin) } else { state.origins.values.forEach(consider) }
        guard let best else { return nil }
        let holder = best.origin.holders[best.index].gate
        best.origin.holders[best.index].owed += 1
        state.owed += 1
        // The holder may wait for a further place, and must not get its own place back.
        if best.origin === origin, origin.line.contains(where: { $0 === holder }) {
            origin.line.removeAll { $0 === holder }
            origin.line.append(holder)
        }
        return Notice(gate: holder, origin: best.origin.name, isGrant: false)
    }

    /// Requests a place for the gate that is next after a grant.
    private func requestPlaceForNext(after granted: Origin, _ state: inout State) -> Notice? {
        guard let next = granted.line.isEmpty ? state.ready.peek : granted, let gate = next.line.peek else {
            return nil
        }
        return requestPlace(next, for: gate, &state)
    }

    /// Withdraws all requests because no gate waits any more.
    private func withdrawRequests(_ state: inout State) -> [Notice] {
        guard state.owed > 0 else { return [] }
        state.owed = 0
        var notices: [Notice] = []
        for origin in state.origins.values {
            for (index, holder) in origin.holders.enumerated() where holder.owed > 0 {
                origin.holders[index].owed = 0
                notices.append(Notice(gate: holder.gate, origin: origin.name, isGrant: false))
            }
        }
        return notices
    }
}

/// Two bounds are equal if they are the same object.
extension ConnectionBudget: Hashable {
    package static func == (left: ConnectionBudget, right: ConnectionBudget) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
