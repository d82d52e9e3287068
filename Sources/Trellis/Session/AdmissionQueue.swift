/// Who may use a connection now, as a value: within an origin by priority and then first come, first served, and in turns
/// between origins.
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
    /// Origins that have waiting requests, in the order of their next turn.
    private var turns: [Int] = []

    init(limits: ConnectionLimits) { self.limits = limits }

    /// Requests that wait.
    private(set) var waitingCount = 0

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
        if origins[index].line.isEmpty { turns.append(index) }
        origins[index].line.enter(id, priority)
        waitingCount += 1
        return Entry(place: Place(index: index), isAdmitted: false, isExploring: false)
    }

    /// Gives up waiting.
    mutating func leave(_ id: ID, at place: Place) {
        let index = place.index
        guard origins[index].line.leave(id) else { return }
        waitingCount -= 1
        guard origins[index].line.isEmpty else { return }
        turns.removeAll { $0 == index }
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
            origins[index].sharing = origins[index].line.isEmpty ? .unknown : .exclusive
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
            guard hasRoom(index), let id = origins[index].line.next() else {
                turns.append(index)
                refusals += 1
                continue
            }
            refusals = 0
            waitingCount -= 1
            admitted.append(id)
            changeActive(index, by: 1)
            if !origins[index].line.isEmpty { turns.append(index) }
        }
        return admitted
    }

    private func hasRoom(_ index: Int) -> Bool {
        if case .explored = origins[index].sharing { return false }
        // A stream on a connection that is there anyway.
        if origins[index].isMultiplexed, origins[index].active % Self.streamsPerConnection != 0 { return true }
        return connections < limits.total && origins[index].connections < limits.perOrigin
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
        freeIndices.append(index)
    }
}
