import CurlEngine

/// The scheduler of a session's requests, as a value: which request gets a connection next, on which engine a request begins, and which
/// idle connection is closed for another one at a limit.
///
/// Within an origin, requests are ordered by priority and then by arrival; origins take turns. A waiting origin keeps its turn while its
/// own limit leaves no room. Of the origins with room, the one with the earliest turn is next, and then gets a new turn after all others.
/// Only origins with room are in a heap: an event costs O(log n) in the number of waiting origins, and O(1) if none waits.
///
/// A request stays on its engine. With several engines, the scheduler counts the connections of each, in use or idle, so that the limits
/// hold for all engines together. A single engine closes idle connections at the limit itself, and only those in use count.
///
/// If a session with several engines has all its connections, an origin leaves the idle connections of others to them for a moment: a hold.
/// So does an engine of an origin that has all its connections.
/// ``endHold()`` is called at a fixed interval, and ends the hold for the origins that waited at the call before. A hold lasts for one to
/// two intervals.
struct ConnectionScheduler<ID: Hashable> {
    /// The number of streams that share a connection if requests are multiplexed, until the server's limit is known.
    static var streamsPerConnection: Int { 100 }
    /// The number of unused origins that are kept in memory, because programs return to the same origins.
    private static var rememberedOrigins: Int { 256 }

    /// The index of an origin, found by name once, when a request enters. Valid while a request of the origin waits or has a slot.
    struct OriginIndex: Hashable {
        let value: Int
    }

    /// An idle connection that its engine closes before a request may open another one.
    struct Closing: Hashable {
        let engine: Int
        let origin: String
    }

    /// The result of entering the queue.
    struct Entry: Hashable {
        let originIndex: OriginIndex
        /// Whether the request got a slot at once.
        let isAdmitted: Bool
        /// Whether the request must report its connection through ``probed(_:at:isShared:)``: it is the first one to its origin,
        /// or its connection may show that the origin's connections can be shared after all.
        var isProbing = false
        /// The connection that is closed for the request, if any.
        var closing: Closing?
        /// Whether ``ConnectionScheduler/endHold()`` must be called a moment later.
        var isHolding = false
    }

    /// A slot for a request that has waited.
    struct Grant: Hashable {
        let id: ID
        /// The connection that is closed for the request, if any.
        let closing: Closing?
    }

    let limits: ConnectionLimits
    var origins: [Origin] = []
    var indices: [String: Int] = [:]
    private var freeIndices: [Int] = []
    /// The number of connections that the active requests use.
    var inUse = 0
    private var lastTurn: UInt64 = 0
    /// The origins that have waiting requests and room for a stream, ordered by their turns.
    private var wantingStreams = KeyedHeap<Int, UInt64>()
    /// The origins that have waiting requests, and may have another connection within the limit per origin, ordered by their turns.
    private var wantingConnections = KeyedHeap<Int, UInt64>()

    /// Returns the engine of a request; `nil` if the session has one engine, whose connections are not counted one by one.
    var engineOf: (@Sendable (ID) -> Int)?
    /// The engines of the session.
    var engines: [Engine] = []
    /// The number of engines that get requests without a connection. Engines beyond it serve only their own tasks.
    var activeCount = 1
    /// The last engine that was chosen for an origin without requests and connections: the requests of a burst begin there before the first
    /// of them enters.
    var lastBegun: (origin: String, engine: Int)?
    /// The number of connections in use or idle, if the session has several engines.
    var open = 0
    /// The origins that may have an idle connection, ordered by the last release of a slot, if the session has several engines.
    private var idle = KeyedHeap<Int, UInt64>()
    /// The number of releases so far, of all origins.
    private(set) var releaseCount: UInt64 = 0
    /// The turns up to which origins no longer hold: ``lastHoldEnd`` as it was at the last call of ``endHold()``.
    private var patienceEnd: UInt64 = 0
    /// The latest turn at the last call of ``endHold()``.
    private var lastHoldEnd: UInt64 = 0
    /// ``releaseCount`` as it was at the last call of ``endHold()``, and at the one before.
    private var holdReleases: (last: UInt64, before: UInt64) = (0, 0)
    /// The origins with an engine that leaves an idle connection to another engine.
    private var keeping: Set<Int> = []
    /// Whether an origin, or an engine of one, leaves an idle connection of another one to it, so that ``endHold()`` must be called a
    /// moment later.
    private(set) var isHolding = false

    /// The measurements by origin, if ``ConnectionLimits/shedsLateRequests`` needs them.
    var turnovers: [Int: Turnover] = [:]

    init(limits: ConnectionLimits) { self.limits = limits.usable }

    /// The number of waiting requests.
    private(set) var waitingCount = 0

    /// The number of comparisons made to find the next origin. Tests use it to check the cost of an event.
    var comparisons: Int { wantingStreams.comparisons + wantingConnections.comparisons + idle.comparisons }

    /// Returns the number of requests of an origin that have a slot.
    func activeCount(at originIndex: OriginIndex) -> Int { origins[originIndex.value].active }

    /// Returns the number of connections to an origin that are in use.
    func connectionCount(at originIndex: OriginIndex) -> Int { origins[originIndex.value].connections }

    /// Returns the number of requests that each connection to an origin carries; `nil` if requests do not share connections.
    func streamCount(at originIndex: OriginIndex) -> Int? {
        origins[originIndex.value].isMultiplexed ? origins[originIndex.value].capacity : nil
    }

    /// Returns the number of requests of the same origin and engine that are ahead of a waiting request.
    func countAhead(of id: ID, at originIndex: OriginIndex) -> Int {
        origins[originIndex.value].countAhead(of: id) ?? 0
    }

    /// Returns whether a waiting request is the next one of its origin, on whatever engine.
    mutating func isFirst(_ id: ID, at originIndex: OriginIndex) -> Bool {
        countAhead(of: id, at: originIndex) == 0 && nextEngine(originIndex.value) == engineOf?(id) ?? 0
    }

    /// Returns whether an origin with waiting requests gets the next connection that ends its work, if the total is the limit.
    func isNext(_ originIndex: OriginIndex) -> Bool { wantingConnections.first?.member == originIndex.value }

    /// Returns the request that is making the first connection to an origin, while all other requests to that origin wait; `nil` if none
    /// is.
    func prober(at originIndex: OriginIndex) -> ID? {
        guard origins.indices.contains(originIndex.value), case .probed(let id) = origins[originIndex.value].sharing
        else {
            return nil
        }
        return id
    }

    // MARK: Entering and leaving

    /// Requests a slot.
    ///
    /// - Parameters:
    ///   - engine: The engine of the request.
    ///   - mayShare: Whether the request can share a connection with others. If the origin has no connection yet, one request
    ///     connects first, so that a burst does not open a connection for each request.
    ///   - hint: The ``OriginIndex/value`` of an earlier request to the same origin. Another origin may have it now.
    mutating func enter(
        _ id: ID, on engine: Int = 0, origin: String, mayShare: Bool = false, priority: RequestPriority = .normal,
        hint: Int = -1
    ) -> Entry {
        let index = origins.indices.contains(hint) && origins[hint].isNamed(origin) ? hint : index(of: origin)
        let engine = engineOf == nil ? 0 : engine
        if engineOf != nil { settle(index, on: engine, mayShare: mayShare) }
        if mayPass(index, on: engine), hasRoom(index, on: engine) {
            let isExclusive = mayShare && origins[index].sharing == .exclusive
            let isFirst = mayShare && !isExclusive && origins[index].active == 0 && !origins[index].hasSharedConnection
            if isFirst { origins[index].sharing = .probed(by: id) }
            return Entry(
                originIndex: OriginIndex(value: index), isAdmitted: true, isProbing: isFirst || isExclusive,
                closing: admit(index, on: engine))
        }
        if !origins[index].hasWaiting() { takeTurn(index) }
        if origins[index].wait(id, priority, on: engine) { waitingCount += 1 }
        stand(index)
        return Entry(originIndex: OriginIndex(value: index), isAdmitted: false, isHolding: isHolding)
    }

    /// Removes a waiting request; does nothing if the request does not wait.
    mutating func leave(_ id: ID, at originIndex: OriginIndex) {
        let index = originIndex.value
        guard origins[index].leave(id, on: engineOf?(id) ?? 0) else { return }
        waitingCount -= 1
        // The next request may need another kind of room.
        stand(index)
        forgetIfUnused(index)
    }

    /// Reports that a request is connected. Returns the slots that are granted as a result.
    ///
    /// The first request to an origin finds out whether connections can be shared. If it fails, any later one that is connected does: until
    /// then, connections count as exclusive.
    mutating func probed(_ id: ID, at originIndex: OriginIndex, isShared: Bool) -> [Grant] {
        let index = originIndex.value
        switch origins[index].sharing {
        case .probed(by: id): setSharing(index, isShared ? .shared : .exclusive)
        case .unknown where isShared, .exclusive where isShared: setSharing(index, .shared)
        default: return []
        }
        return admitWaiting(after: index)
    }

    /// Releases a slot. Returns the slots that are granted as a result.
    ///
    /// - Parameters:
    ///   - engine: The engine of the request, whose connection becomes idle.
    ///   - isShared: Whether several requests can share the connection; `nil` if that did not become known.
    mutating func release(_ id: ID, at originIndex: OriginIndex, on engine: Int = 0, isShared: Bool?) -> [Grant] {
        let index = originIndex.value
        if let isShared {
            setSharing(index, isShared ? .shared : .exclusive)
        } else if origins[index].sharing == .probed(by: id) {
            // The waiting requests connect all at once, and each one finds out for itself whether its connection can be shared.
            origins[index].sharing = origins[index].hasWaiting() ? .exclusive : .unknown
        }
        if engineOf == nil {
            inUse += origins[index].changeActive(by: -1)
        } else {
            end(index, on: engine)
            releaseCount += 1
            idle.set(index, to: releaseCount)
        }
        let granted = admitWaiting(after: index)
        forgetIfUnused(index)
        return granted
    }

    /// Records the number of requests that each shared connection to an origin carries, which the server may change at any time. Requests
    /// beyond it keep their slots. Returns the slots that are granted as a result.
    mutating func allowed(_ streams: Int, to origin: String) -> [Grant] {
        guard let index = indices[origin] else { return [] }
        let before = origins[index].openCount
        inUse += origins[index].setCapacity(streams)
        open += origins[index].openCount - before
        return admitWaiting(after: index)
    }

    // MARK: Turns

    /// Grants slots to waiting requests after an origin has changed.
    mutating func admitWaiting(after changed: Int) -> [Grant] {
        guard waitingCount > 0 else { return [] }
        stand(changed)
        var granted: [Grant] = []
        while let index = nextOrigin(after: changed), let engine = nextEngine(index),
            let id = origins[index].next(on: engine)
        {
            waitingCount -= 1
            granted.append(Grant(id: id, closing: admit(index, on: engine)))
            takeTurn(index)
            stand(index)
        }
        return granted
    }

    /// Returns the origin with the earliest turn among the origins that have room; `nil` if none has.
    private mutating func nextOrigin(after changed: Int) -> Int? {
        let stream = wantingStreams.first
        guard inUse < limits.total, let connection = wantingConnections.first else { return stream?.member }
        if let stream, stream.key < connection.key { return stream.member }
        if mustYield(connection.member, to: changed) { return changed }
        guard mustHold(connection.member) else { return connection.member }
        let mayServeChanged = origins[changed].standing == .connection && !mustHold(changed)
        return mayServeChanged ? changed : stream?.member
    }

    /// Returns whether the next origin leaves the idle connection of another one, which waits as well, to that origin: otherwise
    /// connections would be closed and opened at every turn. An origin takes connections from one that has at least two more, or after
    /// it has waited for four times as many turns as there are connections: all connections of the origin may be in use for long.
    private mutating func mustYield(_ next: Int, to changed: Int) -> Bool {
        guard next != changed, open >= limits.total, origins[changed].standing == .connection,
            lastTurn - origins[next].turn <= 4 * UInt64(limits.total)
        else { return false }
        let (own, other) = (origins[next].openCount, origins[changed].openCount)
        let unused = other - origins[changed].connections
        // Idle connections of origins without waiting requests are closed first.
        guard own == origins[next].connections, unused > 0, open - inUse <= unused else { return false }
        return own > 0 && other < own + 2
    }

    /// Returns whether an origin waits a moment for one of its connections, and leaves the idle connection of another origin to that one.
    /// At the total limit, the origin would close the connection, although the other one needs it again at once: the requests of several
    /// engines do not end in the order of their beginnings.
    private mutating func mustHold(_ index: Int) -> Bool {
        guard open >= limits.total, let other = leastRecentlyIdle, let lastUse = idle.first?.key else { return false }
        let count = origins[index].openCount
        // All connections together have served no more than two requests each since that one was used.
        guard count > 0, count == origins[index].connections, !origins[index].isMultiplexed,
            origins[other].openCount < count + 2, releaseCount - lastUse <= UInt64(2 * open),
            !origins[index].hasWaiting() || origins[index].turn > patienceEnd
        else { return false }
        isHolding = true
        return true
    }

    /// Returns whether an origin's request waits a moment for a connection of its engine, and leaves the idle connection of another engine
    /// to that one. At the limit per origin, the engine would close the connection, although the other one needs it again at once: the
    /// requests of an engine end and begin in bursts.
    private mutating func mustKeep(_ index: Int, on engine: Int) -> Bool {
        guard engineOf != nil, origins[index].openCount >= limits.perOrigin, !origins[index].isMultiplexed,
            origins[index].openCount(on: engine) > 0, !origins[index].hasRoom(on: engine),
            let other = origins[index].idleEngine, origins[index].waitingCount(on: other) == 0,
            !origins[index].isUneven(other, engine),
            origins[index].lastRelease(on: other) > holdReleases.before
        else { return false }
        isHolding = true
        keeping.insert(index)
        return true
    }

    /// Lets origins take idle connections of others if they have waited since before the last call, and engines those that were not used
    /// since then. Returns the slots that are granted.
    mutating func endHold() -> [Grant] {
        isHolding = false
        holdReleases = (releaseCount, holdReleases.last)
        let kept = keeping
        keeping = []
        for index in kept { stand(index) }
        patienceEnd = lastHoldEnd
        lastHoldEnd = lastTurn
        return wantingConnections.first.map { admitWaiting(after: $0.member) } ?? []
    }

    /// Gives an origin a new turn after all others.
    private mutating func takeTurn(_ index: Int) {
        lastTurn += 1
        origins[index].turn = lastTurn
    }

    /// Moves an origin to the heap for the room that it has now, ordered by its turn.
    private mutating func stand(_ index: Int) {
        let engine = origins[index].hasWaiting() ? nextEngine(index) : nil
        var standing = engine.map { room(index, on: $0) } ?? .none
        if standing == .connection, let engine, mustKeep(index, on: engine) { standing = .none }
        if standing != .stream, origins[index].standing == .stream { wantingStreams.remove(index) }
        if standing != .connection, origins[index].standing == .connection { wantingConnections.remove(index) }
        origins[index].standing = standing
        switch standing {
        case .none: break
        case .stream: wantingStreams.set(index, to: origins[index].turn)
        case .connection: wantingConnections.set(index, to: origins[index].turn)
        }
    }

    private mutating func nextEngine(_ index: Int) -> Int? {
        origins[index].nextEngine(requests: limits.requestsPerOrigin ?? .max)
    }

    private mutating func room(_ index: Int, on engine: Int) -> Room {
        origins[index].room(
            perOrigin: limits.perOrigin, requests: limits.requestsPerOrigin ?? .max,
            engine: engineOf == nil ? nil : engine)
    }

    /// Returns whether no request of an origin is ahead of a new one on an engine. Requests on other engines are not, if the new one needs
    /// only a stream on a shared connection.
    private mutating func mayPass(_ index: Int, on engine: Int) -> Bool {
        guard origins[index].hasWaiting() else { return true }
        return limits.requestsPerOrigin == nil && origins[index].waitingCount(on: engine) == 0
            && room(index, on: engine) == .stream
    }

    private mutating func hasRoom(_ index: Int, on engine: Int) -> Bool {
        switch room(index, on: engine) {
        case .none: false
        case .stream: true
        case .connection:
            inUse < limits.total && (open < limits.total || !mustHold(index)) && !mustKeep(index, on: engine)
        }
    }

    private mutating func setSharing(_ index: Int, _ sharing: Sharing) {
        guard origins[index].differs(from: sharing) else { return }
        let before = origins[index].openCount
        inUse += origins[index].setSharing(sharing)
        open += origins[index].openCount - before
    }

    /// Counts a request that gets a slot. Returns the idle connection that is closed for it, if any.
    private mutating func admit(_ index: Int, on engine: Int) -> Closing? {
        guard engineOf == nil else { return begin(index, on: engine) }
        inUse += origins[index].changeActive(by: 1)
        return nil
    }

    // MARK: Origins

    /// The origin with an idle connection that was used least recently; `nil` if none has an idle connection.
    var leastRecentlyIdle: Int? {
        mutating get {
            while let index = idle.first?.member {
                if origins[index].openCount > origins[index].connections { return index }
                idle.remove(index)
            }
            return nil
        }
    }

    /// Lists an origin among those that have an idle connection, if it has one.
    mutating func noteIdle(_ index: Int) {
        guard origins[index].openCount > origins[index].connections, !idle.contains(index) else { return }
        idle.set(index, to: releaseCount)
    }

    private mutating func index(of name: String) -> Int {
        if let index = indices[name] { return index }
        let index = freeIndices.popLast() ?? origins.count
        let origin = Origin(name: name, sharedLimit: min(limits.sharedPerOrigin, limits.total))
        if index == origins.count { origins.append(origin) } else { origins[index] = origin }
        indices[name] = index
        return index
    }

    /// Removes an origin from memory if it has no requests and no connections, and enough other origins are in memory.
    mutating func forgetIfUnused(_ index: Int) {
        // A free index has no name, and must not be freed a second time.
        guard indices.count > Self.rememberedOrigins, origins[index].isUnused, !origins[index].name.isEmpty else {
            return
        }
        indices[origins[index].name] = nil
        if !turnovers.isEmpty { turnovers[index] = nil }
        origins[index] = Origin(name: "", sharedLimit: 1)
        freeIndices.append(index)
    }
}
