/// The queue of requests that wait for a connection, as a value. Within an origin, requests are ordered by priority and then by arrival;
/// origins take turns.
///
/// Each waiting origin has a turn, and keeps it while the limit per origin leaves no room. Of the origins with room, the one with the
/// earliest turn is next, and then gets a new turn after all others. Only origins with room are in a heap, and each event that makes room
/// for an origin adds it: an event costs O(log n) in the number of waiting origins, and O(1) if no origin waits.
struct AdmissionQueue<ID: Hashable> {
    /// The number of streams that share a connection if requests are multiplexed.
    static var streamsPerConnection: Int { 100 }

    /// The known kind of an origin's connections.
    private enum Sharing: Equatable {
        /// The kind is not known before the first connection.
        case unknown
        /// A first request is connecting to find out whether others can share its connection; the others wait for it.
        case probed(by: ID)
        /// Each connection carries one request at a time.
        case exclusive
        /// Each connection carries many requests.
        case shared
    }

    /// An origin, with its active and waiting requests.
    private struct Origin {
        let name: String
        /// The number of requests that have a slot.
        var active = 0
        var sharing = Sharing.unknown
        var line = AgingQueue<ID>()
        /// The turn of the origin; the origin with the lowest is next. Set when the origin begins to wait, and again after each of its
        /// turns.
        var turn: UInt64 = 0
        /// The kind of room because of which the origin is in a heap.
        var standing = Room.none
        /// The engines of the origin's connections, if the session has several engines.
        var spread = EngineSpread()

        var isMultiplexed: Bool { sharing == .shared }

        var connections: Int { isMultiplexed ? (active + streamsPerConnection - 1) / streamsPerConnection : active }
    }

    /// The room that an origin has for one more request, without regard to the other origins.
    private enum Room: Equatable {
        case none
        /// A stream on a connection that exists already.
        case stream
        /// A new connection, within the limit per origin.
        case connection
    }

    /// The place of a request: the index of its origin, found by name once, when the request enters. Valid while a request of the origin
    /// waits or has a slot.
    struct Place: Hashable {
        fileprivate let index: Int
    }

    /// The result of entering the queue.
    struct Entry: Hashable {
        let place: Place
        /// Indicates whether the request got a slot at once.
        let isAdmitted: Bool
        /// Indicates whether the request is the first to its origin, and must report through ``probed(_:at:isShared:)``.
        let isProbing: Bool
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
    /// The origins that have waiting requests, and for which the limit per origin allows a connection, ordered by their turns.
    private var wantingConnections = KeyedHeap<Int, UInt64>()

    init(limits: ConnectionLimits) { self.limits = limits }

    /// The number of waiting requests.
    private(set) var waitingCount = 0

    /// The number of comparisons made to find the next origin. Tests use it to check the cost of an event.
    var comparisons: Int { wantingStreams.comparisons + wantingConnections.comparisons }

    /// Returns the number of requests of an origin that have a slot.
    func activeCount(at place: Place) -> Int { origins[place.index].active }

    /// Returns the number of connections to an origin that are in use.
    func connectionCount(at place: Place) -> Int { origins[place.index].connections }

    /// Returns the number of requests of the same origin that are ahead of a waiting request.
    func countAhead(of id: ID, at place: Place) -> Int { origins[place.index].line.countAhead(of: id) ?? 0 }

    /// Returns whether the first connection to an origin is being established, while all other requests to that origin wait.
    func isBeingProbed(_ place: Place) -> Bool {
        if case .probed = origins[place.index].sharing { true } else { false }
    }

    // MARK: Engines

    /// The places of all origins, including unused places without requests and connections.
    var places: LazyMapCollection<Range<Int>, Place> { origins.indices.lazy.map { Place(index: $0) } }

    /// Returns the place of an origin; `nil` if the origin is not in memory.
    func place(of origin: String) -> Place? { indices[origin].map { Place(index: $0) } }

    /// Returns the origin of a queue, whose name may also name the protocol.
    func origin(at place: Place) -> String { String(origins[place.index].name.prefix { $0 != " " }) }

    /// Returns the number of requests that share a connection to an origin.
    func streams(at place: Place) -> Int { origins[place.index].isMultiplexed ? Self.streamsPerConnection : 1 }

    /// The engines of an origin's connections.
    subscript(spreadAt place: Place) -> EngineSpread {
        get { origins[place.index].spread }
        _modify { yield &origins[place.index].spread }
    }

    // MARK: Entering and leaving

    /// Requests a slot.
    ///
    /// - Parameter mayShare: Indicates whether the request can share a connection with others. If the origin has no connection yet, one
    ///   request connects first, so that a burst does not open a connection for each request.
    mutating func enter(
        _ id: ID, origin: String, mayShare: Bool = false, priority: RequestPriority = .normal
    ) -> Entry {
        let index = index(of: origin)
        if origins[index].line.isEmpty, hasRoom(index) {
            let isProbing = mayShare && origins[index].active == 0 && origins[index].sharing != .exclusive
            if isProbing { origins[index].sharing = .probed(by: id) }
            changeActive(index, by: 1)
            return Entry(place: Place(index: index), isAdmitted: true, isProbing: isProbing)
        }
        if origins[index].line.isEmpty { takeTurn(index) }
        origins[index].line.enter(id, priority)
        waitingCount += 1
        stand(index)
        return Entry(place: Place(index: index), isAdmitted: false, isProbing: false)
    }

    /// Removes a waiting request; does nothing if the request does not wait.
    mutating func leave(_ id: ID, at place: Place) {
        let index = place.index
        guard origins[index].line.leave(id) else { return }
        waitingCount -= 1
        guard origins[index].line.isEmpty else { return }
        stand(index)
        forgetIfUnused(index)
    }

    /// Reports that the first request to an origin is connected. Returns the requests that get a slot as a result.
    mutating func probed(_ id: ID, at place: Place, isShared: Bool) -> [ID] {
        let index = place.index
        guard origins[index].sharing == .probed(by: id) else { return [] }
        setSharing(index, isShared ? .shared : .exclusive)
        return admitWaiting(after: index)
    }

    /// Releases a slot. Returns the requests that get a slot as a result.
    ///
    /// - Parameter isShared: Indicates whether several requests can share the connection; `nil` if that did not become known.
    mutating func release(_ id: ID, at place: Place, isShared: Bool?) -> [ID] {
        let index = place.index
        if let isShared {
            setSharing(index, isShared ? .shared : .exclusive)
        } else if origins[index].sharing == .probed(by: id) {
            // The waiting requests connect all at once, and each one finds out for itself whether its connection can be shared.
            origins[index].sharing = origins[index].line.isEmpty ? .unknown : .exclusive
        }
        changeActive(index, by: -1)
        let admitted = admitWaiting(after: index)
        forgetIfUnused(index)
        return admitted
    }

    // MARK: Turns

    /// Grants slots to waiting requests after an origin has changed. Returns the requests that get one.
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

    /// Returns the origin with the earliest turn among the origins that have room; `nil` if none has.
    private func nextOrigin() -> Int? {
        let stream = wantingStreams.first
        guard connections < limits.total, let connection = wantingConnections.first else { return stream?.member }
        guard let stream, stream.key < connection.key else { return connection.member }
        return stream.member
    }

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

    /// Returns the room that an origin has for one more request.
    private func room(_ index: Int) -> Room {
        if case .probed = origins[index].sharing { return .none }
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
    mutating func forgetIfUnused(_ place: Place) { forgetIfUnused(place.index) }

    private mutating func forgetIfUnused(_ index: Int) {
        guard indices.count > Self.rememberedOrigins, origins[index].active == 0, origins[index].line.isEmpty,
            origins[index].spread.isEmpty
        else { return }
        indices[origins[index].name] = nil
        origins[index] = Origin(name: "")
        freeIndices.append(index)
    }
}
