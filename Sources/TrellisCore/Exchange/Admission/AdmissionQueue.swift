import CurlEngine

/// The queue of requests that wait for a connection, as a value. Within an origin, requests are ordered by priority and then by arrival;
/// origins take turns.
///
/// A waiting origin keeps its turn while its own limit leaves no room. Of the origins with room, the one with the earliest turn is next,
/// and then gets a new turn after all others. Only origins with room are in a heap: an event costs O(log n) in the number of waiting
/// origins, and O(1) if none waits.
///
/// If a session has several engines and all its connections, an origin leaves the idle connections of others to them for a moment: a hold.
/// ``endHold()`` is called at a fixed interval, and ends the hold for the origins that waited at the call before. A hold lasts for one to
/// two intervals.
struct AdmissionQueue<ID: Hashable> {
    /// The number of streams that share a connection if requests are multiplexed.
    static var streamsPerConnection: Int { 100 }

    /// The index of an origin, found by name once, when a request enters. Valid while a request of the origin waits or has a slot.
    struct OriginIndex: Hashable {
        let value: Int
    }

    /// The result of entering the queue.
    struct Entry: Hashable {
        let originIndex: OriginIndex
        /// Whether the request got a slot at once.
        let isAdmitted: Bool
        /// Whether the request must report its connection through ``probed(_:at:isShared:)``: it is the first one to its origin,
        /// or its connection may show that the origin's connections can be shared after all.
        let isProbing: Bool
        /// Whether ``AdmissionQueue/endHold()`` must be called a moment later.
        var isHolding = false
    }

    private let limits: ConnectionLimits
    private var origins: [Origin] = []
    private var indices: [String: Int] = [:]
    private var freeIndices: [Int] = []
    /// The number of connections that the active requests use.
    private var connections = 0
    private var lastTurn: UInt64 = 0
    /// The origins that have waiting requests and room for a stream, ordered by their turns.
    private var wantingStreams = KeyedHeap<Int, UInt64>()
    /// The origins that have waiting requests, and may have another connection within the limit per origin, ordered by their turns.
    private var wantingConnections = KeyedHeap<Int, UInt64>()

    /// Returns the engine of a waiting request; `nil` if the session has one engine, and the origins' ``EngineSpread`` is not used.
    private var engineOf: (@Sendable (ID) -> Int)?
    /// The number of connections in use or idle, if the session has several engines.
    private var held = 0
    /// The origins that may have an idle connection, if the session has several engines.
    private var idle = IdleOrigins()
    /// The turns up to which origins no longer hold: ``lastHoldEnd`` as it was at the last call of ``endHold()``.
    private var patienceEnd: UInt64 = 0
    /// The latest turn at the last call of ``endHold()``.
    private var lastHoldEnd: UInt64 = 0
    /// Whether an origin leaves an idle connection of another one to it, so that ``endHold()`` must be called a moment later.
    private(set) var isHolding = false

    init(limits: ConnectionLimits) { self.limits = limits.usable }

    /// The number of waiting requests.
    private(set) var waitingCount = 0

    /// The number of comparisons made to find the next origin. Tests use it to check the cost of an event.
    var comparisons: Int { wantingStreams.comparisons + wantingConnections.comparisons }

    /// Returns the number of requests of an origin that have a slot.
    func activeCount(at originIndex: OriginIndex) -> Int { origins[originIndex.value].active }

    /// Returns the number of connections to an origin that are in use.
    func connectionCount(at originIndex: OriginIndex) -> Int { origins[originIndex.value].connections }

    /// Returns the number of requests of the same origin that are ahead of a waiting request.
    func countAhead(of id: ID, at originIndex: OriginIndex) -> Int {
        origins[originIndex.value].line.countAhead(of: id) ?? 0
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

    // MARK: Engines

    /// The indices of all origins in memory.
    var originIndices: [OriginIndex] { indices.values.map { OriginIndex(value: $0) } }

    /// Returns the index of an origin; `nil` if the origin is not in memory.
    func originIndex(of origin: String) -> OriginIndex? { indices[origin].map { OriginIndex(value: $0) } }

    /// Returns the origin of a queue, whose name may also name the protocol.
    func origin(at originIndex: OriginIndex) -> String {
        String(origins[originIndex.value].name.prefix(beforeBytes: " "))
    }

    /// Returns the number of requests that share a connection to an origin.
    func streams(at originIndex: OriginIndex) -> Int {
        origins[originIndex.value].isMultiplexed ? Self.streamsPerConnection : 1
    }

    /// The engines of an origin's connections.
    subscript(spreadAt originIndex: OriginIndex) -> EngineSpread {
        get { origins[originIndex.value].spread }
        _modify {
            connections -= origins[originIndex.value].connections
            held -= origins[originIndex.value].held
            defer {
                connections += origins[originIndex.value].connections
                held += origins[originIndex.value].held
            }
            yield &origins[originIndex.value].spread
        }
    }

    /// Records that the session has several engines from now on.
    ///
    /// - Parameter engineOf: Returns the engine of a waiting request.
    mutating func spread(engineOf: @escaping @Sendable (ID) -> Int) {
        self.engineOf = engineOf
        held = origins.reduce(0) { $0 + $1.held }
    }

    /// Returns whether an origin has all connections or requests that it may have, so that a new request waits.
    func isFull(_ originIndex: OriginIndex) -> Bool {
        let origin = origins[originIndex.value]
        return connections >= limits.total || origin.connections >= limits.perOrigin
            || origin.active >= limits.requestsPerOrigin ?? .max
    }

    // MARK: Entering and leaving

    /// Requests a slot.
    ///
    /// - Parameters:
    ///   - mayShare: Whether the request can share a connection with others. If the origin has no connection yet, one request
    ///     connects first, so that a burst does not open a connection for each request.
    ///   - hint: The ``OriginIndex/value`` of an earlier request to the same origin, which may have become that of another origin.
    mutating func enter(
        _ id: ID, origin: String, mayShare: Bool = false, priority: RequestPriority = .normal, hint: Int = -1
    ) -> Entry {
        let index = origins.indices.contains(hint) && origins[hint].isNamed(origin) ? hint : index(of: origin)
        if !origins[index].hasWaiting(), hasRoom(index) {
            let isExclusive = mayShare && origins[index].sharing == .exclusive
            let isFirst = mayShare && !isExclusive && origins[index].active == 0
            if isFirst { origins[index].sharing = .probed(by: id) }
            changeActive(index, by: 1)
            return Entry(
                originIndex: OriginIndex(value: index), isAdmitted: true, isProbing: isFirst || isExclusive)
        }
        if origins[index].line.isEmpty { takeTurn(index) }
        let count = origins[index].line.count
        origins[index].line.enter(id, priority)
        // A request that waits already is counted once.
        waitingCount += origins[index].line.count - count
        stand(index)
        return Entry(
            originIndex: OriginIndex(value: index), isAdmitted: false, isProbing: false, isHolding: isHolding)
    }

    /// Removes a waiting request; does nothing if the request does not wait.
    mutating func leave(_ id: ID, at originIndex: OriginIndex) {
        let index = originIndex.value
        guard origins[index].line.leave(id) else { return }
        waitingCount -= 1
        guard origins[index].line.isEmpty else { return }
        stand(index)
        forgetIfUnused(index)
    }

    /// Reports that a request is connected. Returns the requests that get a slot as a result.
    ///
    /// The first request to an origin finds out whether connections can be shared. If it fails, any later one that is connected does: until
    /// then, connections count as exclusive.
    mutating func probed(_ id: ID, at originIndex: OriginIndex, isShared: Bool) -> [ID] {
        let index = originIndex.value
        switch origins[index].sharing {
        case .probed(by: id): setSharing(index, isShared ? .shared : .exclusive)
        case .unknown where isShared, .exclusive where isShared: setSharing(index, .shared)
        default: return []
        }
        return admitWaiting(after: index)
    }

    /// Releases a slot. Returns the requests that get a slot as a result.
    ///
    /// - Parameters:
    ///   - engine: The engine of the slot. Its next request comes first if the request at the front is on another
    ///     engine, so that requests seldom move. No request is overtaken by more requests than the origin has connections.
    ///   - isShared: Whether several requests can share the connection; `nil` if that did not become known.
    mutating func release(_ id: ID, at originIndex: OriginIndex, on engine: Int = 0, isShared: Bool?) -> [ID] {
        let index = originIndex.value
        if let isShared {
            setSharing(index, isShared ? .shared : .exclusive)
        } else if origins[index].sharing == .probed(by: id) {
            // The waiting requests connect all at once, and each one finds out for itself whether its connection can be shared.
            origins[index].sharing = origins[index].line.isEmpty ? .unknown : .exclusive
        }
        changeActive(index, by: -1)
        if engineOf != nil { idle.didRelease(index) }
        let admitted = admitWaiting(after: index, on: engine)
        forgetIfUnused(index)
        return admitted
    }

    // MARK: Turns

    /// Grants slots to waiting requests after an origin has changed. Returns the requests that get one.
    ///
    /// - Parameter engine: The engine whose connection to the origin became idle, if any.
    private mutating func admitWaiting(after changed: Int, on engine: Int? = nil) -> [ID] {
        guard waitingCount > 0 else { return [] }
        stand(changed)
        var admitted: [ID] = []
        while let index = nextOrigin(after: changed),
            let id = nextRequest(of: index, on: index == changed ? engine : nil)
        {
            waitingCount -= 1
            admitted.append(id)
            changeActive(index, by: 1)
            takeTurn(index)
            stand(index)
        }
        return admitted
    }

    /// Returns the origin with the earliest turn among the origins that have room; `nil` if none has.
    private mutating func nextOrigin(after changed: Int) -> Int? {
        let stream = wantingStreams.first
        guard connections < limits.total, let connection = wantingConnections.first else { return stream?.member }
        if let stream, stream.key < connection.key { return stream.member }
        if mustYield(connection.member, to: changed) { return changed }
        guard mustHold(connection.member) else { return connection.member }
        let mayServeChanged = origins[changed].standing == .connection && !mustHold(changed)
        return mayServeChanged ? changed : stream?.member
    }

    /// Returns whether the next origin leaves the idle connection of another one, which waits as well, to that origin: otherwise
    /// connections would be closed and opened at every turn. An origin takes connections from one that has at least two more, or after
    /// it has waited for four times as many turns as there are connections: its own connections may all be in use for long.
    private func mustYield(_ next: Int, to changed: Int) -> Bool {
        guard engineOf != nil, next != changed, held >= limits.total, origins[changed].standing == .connection,
            lastTurn - origins[next].turn <= 4 * UInt64(limits.total)
        else { return false }
        let (own, other) = (origins[next].held, origins[changed].held)
        let idle = other - origins[changed].connections
        // Idle connections of origins without waiting requests are closed first.
        guard own == origins[next].connections, idle > 0, held - connections <= idle else { return false }
        return own > 0 && other < own + 2
    }

    /// Returns whether an origin waits a moment for one of its connections, and leaves the idle connection of another origin to that one.
    /// At the total limit, the origin would close the connection, although the other one needs it again at once: the requests of several
    /// engines do not end in the order of their beginnings.
    private mutating func mustHold(_ index: Int) -> Bool {
        guard engineOf != nil, held >= limits.total, let other = leastRecentlyIdle?.value else { return false }
        let origin = origins[index]
        guard origin.connections > 0, origin.held == origin.connections, !origin.isMultiplexed,
            origins[other].held < origin.held + 2, idle.isFresh(connections: held),
            origin.line.isEmpty || origin.turn > patienceEnd
        else { return false }
        isHolding = true
        return true
    }

    /// The index of the origin with an idle connection that was used least recently; `nil` if none has an idle connection.
    var leastRecentlyIdle: OriginIndex? {
        mutating get {
            while let index = idle.first {
                if origins[index].held > origins[index].connections { return OriginIndex(value: index) }
                idle.remove(index)
            }
            return nil
        }
    }

    /// Lets origins take idle connections of others if they have waited since before the last call. Returns the requests that get one.
    mutating func endHold() -> [ID] {
        isHolding = false
        patienceEnd = lastHoldEnd
        lastHoldEnd = lastTurn
        return wantingConnections.first.map { admitWaiting(after: $0.member) } ?? []
    }

    /// Removes the next waiting request of an origin from its line.
    private mutating func nextRequest(of index: Int, on engine: Int?) -> ID? {
        guard let engineOf, let engine, !origins[index].isMultiplexed, let first = origins[index].line.first else {
            return origins[index].line.next()
        }
        let home = engineOf(first)
        // An engine with fewer connections gets one for its request.
        let spread = origins[index].spread
        if home == engine || spread.isUneven(engine, home) { return origins[index].line.next() }
        return origins[index].line.next(among: min(origins[index].held, Self.window)) { engineOf($0) == engine }
    }

    /// The maximum number of waiting requests among which one is chosen for its engine.
    private static var window: Int { 32 }

    /// Gives an origin a new turn after all others.
    private mutating func takeTurn(_ index: Int) {
        lastTurn += 1
        origins[index].turn = lastTurn
    }

    /// Moves an origin to the heap for the room that it has now, ordered by its turn.
    private mutating func stand(_ index: Int) {
        let standing = origins[index].line.isEmpty ? Room.none : room(index)
        if standing != .stream, origins[index].standing == .stream { wantingStreams.remove(index) }
        if standing != .connection, origins[index].standing == .connection { wantingConnections.remove(index) }
        origins[index].standing = standing
        switch standing {
        case .none: break
        case .stream: wantingStreams.set(index, to: origins[index].turn)
        case .connection: wantingConnections.set(index, to: origins[index].turn)
        }
    }

    private mutating func room(_ index: Int) -> Room {
        origins[index].room(perOrigin: limits.perOrigin, requests: limits.requestsPerOrigin ?? .max)
    }

    private mutating func hasRoom(_ index: Int) -> Bool {
        switch room(index) {
        case .none: false
        case .stream: true
        case .connection: connections < limits.total && !mustHold(index)
        }
    }

    private mutating func setSharing(_ index: Int, _ sharing: Sharing) {
        guard origins[index].differs(from: sharing) else { return }
        held -= origins[index].held
        connections += origins[index].setSharing(sharing)
        held += origins[index].held
    }

    private mutating func changeActive(_ index: Int, by change: Int) {
        guard engineOf != nil else { return connections += origins[index].changeActive(by: change) }
        held -= origins[index].held
        connections += origins[index].changeActive(by: change)
        held += origins[index].held
    }

    // MARK: Origins

    /// The number of unused origins that are kept in memory, because programs return to the same origins.
    private static var rememberedOrigins: Int { 256 }

    private mutating func index(of name: String) -> Int {
        if let index = indices[name] { return index }
        let index = freeIndices.popLast() ?? origins.count
        if index == origins.count { origins.append(Origin(name: name)) } else { origins[index] = Origin(name: name) }
        indices[name] = index
        return index
    }

    /// Removes an origin from memory if it has no requests and no connections, and enough other origins are in memory.
    mutating func forgetIfUnused(_ originIndex: OriginIndex) { forgetIfUnused(originIndex.value) }

    private mutating func forgetIfUnused(_ index: Int) {
        // A free index has no name, and must not be freed a second time.
        guard indices.count > Self.rememberedOrigins, origins[index].active == 0, origins[index].line.isEmpty,
            origins[index].spread.isEmpty, !origins[index].name.isEmpty
        else { return }
        indices[origins[index].name] = nil
        origins[index] = Origin(name: "")
        freeIndices.append(index)
    }
}
