/// Who may use a connection now, as a value: first come, first served within an origin, and in turns between origins.
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
        /// Who waits, by ticket. Those that left are still here until their turn comes.
        var waiting: [(ticket: Int, id: ID)] = []
        var first = 0
        var waitingCount = 0

        var isMultiplexed: Bool { sharing == .shared }

        var connections: Int { isMultiplexed ? (active + streamsPerConnection - 1) / streamsPerConnection : active }
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
    private var tickets: [ID: Int] = [:]
    private var lastTicket = 0
    /// Origins that have waiting requests, in the order of their next turn.
    private var turns: [Int] = []

    init(limits: ConnectionLimits) { self.limits = limits }

    /// Requests that wait.
    var waitingCount: Int { tickets.count }

    /// Requests of an origin that have a slot.
    func activeCount(at place: Place) -> Int { origins[place.index].active }

    /// Whether the first connection to an origin is being made, and everybody waits for it.
    func isBeingExplored(_ place: Place) -> Bool {
        if case .explored = origins[place.index].sharing { true } else { false }
    }

    // MARK: Coming and going

    /// Asks for a slot.
    ///
    /// - Parameter mayShare: The request can share a connection with others. Where nobody is connected yet, one goes ahead,
    ///   so that a burst does not open a connection for each.
    mutating func enter(_ id: ID, origin: String, mayShare: Bool = false) -> Entry {
        let index = index(of: origin)
        if origins[index].waitingCount == 0, hasRoom(index) {
            let isExploring = mayShare && origins[index].active == 0 && origins[index].sharing != .exclusive
            if isExploring { origins[index].sharing = .explored(by: id) }
            changeActive(index, by: 1)
            return Entry(place: Place(index: index), isAdmitted: true, isExploring: isExploring)
        }
        lastTicket += 1
        tickets[id] = lastTicket
        origins[index].waiting.append((lastTicket, id))
        origins[index].waitingCount += 1
        if origins[index].waitingCount == 1 { turns.append(index) }
        return Entry(place: Place(index: index), isAdmitted: false, isExploring: false)
    }

    /// Gives up waiting.
    mutating func leave(_ id: ID, at place: Place) {
        guard tickets.removeValue(forKey: id) != nil else { return }
        let index = place.index
        origins[index].waitingCount -= 1
        guard origins[index].waitingCount == 0 else { return }
        turns.removeAll { $0 == index }
        origins[index].waiting = []
        origins[index].first = 0
        forgetIfUnused(index)
    }

    /// The request that went ahead is connected. Returns who gets a slot now.
    mutating func explored(_ id: ID, at place: Place, isShared: Bool) -> [ID] {
        let index = place.index
        guard origins[index].sharing == .explored(by: id) else { return [] }
        setSharing(index, isShared ? .shared : .exclusive)
        return turns.isEmpty ? [] : admitWaiting()
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
            origins[index].sharing = origins[index].waitingCount > 0 ? .exclusive : .unknown
        }
        changeActive(index, by: -1)
        let admitted = turns.isEmpty ? [] : admitWaiting()
        forgetIfUnused(index)
        return admitted
    }

    // MARK: Turns

    private mutating func admitWaiting() -> [ID] {
        var admitted: [ID] = []
        var refusals = 0
        while refusals < turns.count {
            let index = turns.removeFirst()
            guard hasRoom(index), let id = takeFirst(index) else {
                turns.append(index)
                refusals += 1
                continue
            }
            refusals = 0
            admitted.append(id)
            changeActive(index, by: 1)
            if origins[index].waitingCount > 0 { turns.append(index) }
        }
        return admitted
    }

    private mutating func takeFirst(_ index: Int) -> ID? {
        while origins[index].first < origins[index].waiting.count {
            let (ticket, id) = origins[index].waiting[origins[index].first]
            origins[index].first += 1
            guard tickets[id] == ticket else { continue }
            tickets[id] = nil
            origins[index].waitingCount -= 1
            compact(index)
            return id
        }
        return nil
    }

    private mutating func compact(_ index: Int) {
        let first = origins[index].first
        guard first > 64, first * 2 > origins[index].waiting.count else { return }
        origins[index].waiting.removeFirst(first)
        origins[index].first = 0
    }

    private func hasRoom(_ index: Int) -> Bool {
        let origin = origins[index]
        if case .explored = origin.sharing { return false }
        // A stream on a connection that is there anyway.
        if origin.isMultiplexed, origin.active % Self.streamsPerConnection != 0 { return true }
        return connections < limits.total && origin.connections < limits.perOrigin
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
        let origin = origins[index]
        guard indices.count > Self.rememberedOrigins, origin.active == 0, origin.waitingCount == 0 else { return }
        indices[origin.name] = nil
        freeIndices.append(index)
    }
}
