/// Who may use a connection now, as a value: within an origin by priority and then first come, first served, and in turns
/// between origins.
///
/// An origin that waits has a turn, and keeps it while it has no room of its own; where several have room, the one with the
/// earliest turn goes, and gets a new one behind all others. Only origins that have room of their own stand in a heap, and what
/// gives an origin room puts it there: an event costs O(log n) in the number of origins that wait, and O(1) where none does.
struct AdmissionQueue<ID: Hashable> {
    /// Streams that share a connection where requests are multiplexed.
    static var streamsPerConnection: Int { 100 }

    /// What is known of an origin's connections.
    private enum Sharing: Equatable {
        case unknown
        /// A request has gone ahead to see whether others can share its connection; they wait for it to be connected.
        case explored(by: ID)
        /// A request each.
        case exclusive
        /// Many requests each.
        case shared
    }

    private struct Origin {
        let name: String
        var active = 0
        var sharing = Sharing.unknown
        var line = WaitingLine<ID>()
        /// The lower, the earlier it goes. Given when it begins to wait and each time that it has gone.
        var turn: UInt64 = 0
        /// What it stands in line for.
        var standing = Room.none

        var isMultiplexed: Bool { sharing == .shared }

        var connections: Int { isMultiplexed ? (active + streamsPerConnection - 1) / streamsPerConnection : active }
    }

    /// What an origin has for one more request, whatever the others have.
    private enum Room: Equatable {
        case none
        /// A stream on a connection that is there anyway.
        case stream
        /// A connection more, within its own limit.
        case connection
    }

    /// Where a request stands or has stood: asked for by name once, on entering. Holds for an origin while a request of its
    /// waits or has a slot.
    struct Place: Hashable {
        fileprivate let index: Int
    }

    /// What entering came to.
    struct Entry: Hashable {
        let place: Place
        /// A slot was given at once.
        let isAdmitted: Bool
        /// The request goes ahead of others to its origin; ``explored(_:at:isShared:)`` is waited for.
        let isExploring: Bool
    }

    private let limits: ConnectionLimits
    private var origins: [Origin] = []
    private var indices: [String: Int] = [:]
    private var freeIndices: [Int] = []
    /// Connections that the active requests take.
    private var connections = 0
    private var lastTurn: UInt64 = 0
    /// Origins that have waiting requests and room for a stream, by their turns.
    private var wantingStreams = KeyedHeap<Int, UInt64>()
    /// Origins that have waiting requests and room for a connection, as soon as the session has one, by their turns.
    private var wantingConnections = KeyedHeap<Int, UInt64>()

    init(limits: ConnectionLimits) { self.limits = limits }

    /// Requests that wait.
    private(set) var waitingCount = 0

    /// What was compared so far to find out whose turn it is. Tests hold the cost of an event against it.
    var comparisons: Int { wantingStreams.comparisons + wantingConnections.comparisons }

    /// Requests of an origin that have a slot.
    func activeCount(at place: Place) -> Int { origins[place.index].active }

    /// Connections to an origin that are in use.
    func connectionCount(at place: Place) -> Int { origins[place.index].connections }

    /// How many requests go to their origin before one that waits.
    func countAhead(of id: ID, at place: Place) -> Int { origins[place.index].line.countAhead(of: id) ?? 0 }

    /// Whether the first connection to an origin is being made, and everybody waits for it.
    func isBeingExplored(_ place: Place) -> Bool {
        if case .explored = origins[place.index].sharing { true } else { false }
    }

    // MARK: Coming and going

    /// Asks for a slot.
    ///
    /// - Parameter mayShare: The request can share a connection with others. Where nobody is connected yet, one goes ahead,
    ///   so that a burst does not open a connection for each.
    mutating func enter(
        _ id: ID, origin: String, mayShare: Bool = false, priority: RequestPriority = .normal
    ) -> Entry {
        let index = index(of: origin)
        if origins[index].line.isEmpty, hasRoom(index) {
            let isExploring = mayShare && origins[index].active == 0 && origins[index].sharing != .exclusive
            if isExploring { origins[index].sharing = .explored(by: id) }
            changeActive(index, by: 1)
            return Entry(place: Place(index: index), isAdmitted: true, isExploring: isExploring)
        }
        if origins[index].line.isEmpty { takeTurn(index) }
        origins[index].line.enter(id, priority)
        waitingCount += 1
        stand(index)
        return Entry(place: Place(index: index), isAdmitted: false, isExploring: false)
    }

    /// Gives up waiting.
    mutating func leave(_ id: ID, at place: Place) {
        let index = place.index
        guard origins[index].line.leave(id) else { return }
        waitingCount -= 1
        guard origins[index].line.isEmpty else { return }
        stand(index)
        forgetIfUnused(index)
    }

    /// The request that went ahead is connected. Returns who gets a slot now.
    mutating func explored(_ id: ID, at place: Place, isShared: Bool) -> [ID] {
        let index = place.index
        guard origins[index].sharing == .explored(by: id) else { return [] }
        setSharing(index, isShared ? .shared : .exclusive)
        return admitWaiting(after: index)
    }

    /// Gives a slot back. Returns who gets one now.
    ///
    /// - Parameter isShared: Whether the connection was one that requests share; `nil` where that never became known.
    mutating func release(_ id: ID, at place: Place, isShared: Bool?) -> [ID] {
        let index = place.index
        if let isShared {
            setSharing(index, isShared ? .shared : .exclusive)
        } else if origins[index].sharing == .explored(by: id) {
            // Those who wait find out for themselves, all at once.
            origins[index].sharing = origins[index].line.isEmpty ? .unknown : .exclusive
        }
        changeActive(index, by: -1)
        let admitted = admitWaiting(after: index)
        forgetIfUnused(index)
        return admitted
    }

    // MARK: Turns

    /// Gives slots to those that wait, after something has changed at an origin.
    private mutating func admitWaiting(after changed: Int) -> [ID] {
        guard waitingCount > 0 else { return [] }
        stand(changed)
        var admitted: [ID] = []
        while let index = nextOrigin(), let id = origins[index].line.next() {
            waitingCount -= 1
            admitted.append(id)
            changeActive(index, by: 1)
            takeTurn(index)
            stand(index)
        }
        return admitted
    }

    /// The origin that goes next, of those that can.
    private func nextOrigin() -> Int? {
        let stream = wantingStreams.first
        guard connections < limits.total, let connection = wantingConnections.first else { return stream?.member }
        guard let stream, stream.key < connection.key else { return connection.member }
        return stream.member
    }

    /// Puts an origin behind all others.
    private mutating func takeTurn(_ index: Int) {
        lastTurn += 1
        origins[index].turn = lastTurn
    }

    /// Puts an origin where it belongs, by its turn.
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

    private func room(_ index: Int) -> Room {
        if case .explored = origins[index].sharing { return .none }
        if origins[index].isMultiplexed, origins[index].active % Self.streamsPerConnection != 0 { return .stream }
        return origins[index].connections < limits.perOrigin ? .connection : .none
    }

    private func hasRoom(_ index: Int) -> Bool {
        switch room(index) {
        case .none: false
        case .stream: true
        case .connection: connections < limits.total
        }
    }

    private mutating func setSharing(_ index: Int, _ sharing: Sharing) {
        guard origins[index].sharing != sharing else { return }
        connections -= origins[index].connections
        origins[index].sharing = sharing
        connections += origins[index].connections
    }

    private mutating func changeActive(_ index: Int, by change: Int) {
        connections -= origins[index].connections
        origins[index].active += change
        connections += origins[index].connections
    }

    // MARK: Origins

    /// How many unused origins are remembered, because programs come back to them.
    private static var rememberedOrigins: Int { 256 }

    private mutating func index(of name: String) -> Int {
        if let index = indices[name] { return index }
        let index = freeIndices.popLast() ?? origins.count
        if index == origins.count { origins.append(Origin(name: name)) } else { origins[index] = Origin(name: name) }
        indices[name] = index
        return index
    }

    private mutating func forgetIfUnused(_ index: Int) {
        guard indices.count > Self.rememberedOrigins, origins[index].active == 0, origins[index].line.isEmpty else {
            return
        }
        indices[origins[index].name] = nil
        origins[index] = Origin(name: "")
        freeIndices.append(index)
    }
}
