/// Who may use a connection now, as a value: first come, first served within an origin, and in turns between origins.
struct AdmissionQueue<ID: Hashable> {
    /// Streams that share a connection where requests are multiplexed.
    static var streamsPerConnection: Int { 100 }

    private struct Origin {
        let name: String
        var active = 0
        var isMultiplexed = false
        /// Who waits, by ticket. Those that left are still here until their turn comes.
        var waiting: [(ticket: Int, id: ID)] = []
        var first = 0
        var waitingCount = 0

        var connections: Int { isMultiplexed ? (active + streamsPerConnection - 1) / streamsPerConnection : active }
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
    func activeCount(origin: String) -> Int { indices[origin].map { origins[$0].active } ?? 0 }

    // MARK: Coming and going

    /// Asks for a slot; `true`: it is given at once.
    mutating func enter(_ id: ID, origin: String) -> Bool {
        let index = index(of: origin)
        if origins[index].waitingCount == 0, hasRoom(index) {
            changeActive(index, by: 1)
            return true
        }
        lastTicket += 1
        tickets[id] = lastTicket
        origins[index].waiting.append((lastTicket, id))
        origins[index].waitingCount += 1
        if origins[index].waitingCount == 1 { turns.append(index) }
        return false
    }

    /// Gives up waiting.
    mutating func leave(_ id: ID, origin: String) {
        guard tickets.removeValue(forKey: id) != nil, let index = indices[origin] else { return }
        origins[index].waitingCount -= 1
        guard origins[index].waitingCount == 0 else { return }
        turns.removeAll { $0 == index }
        origins[index].waiting = []
        origins[index].first = 0
        forgetIfUnused(index)
    }

    /// Gives a slot back. Returns who gets one now.
    mutating func release(origin: String, isMultiplexed: Bool) -> [ID] {
        guard let index = indices[origin] else { return [] }
        if isMultiplexed, !origins[index].isMultiplexed {
            connections -= origins[index].connections
            origins[index].isMultiplexed = true
            connections += origins[index].connections
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
        // A stream on a connection that is there anyway.
        if origin.isMultiplexed, origin.active % Self.streamsPerConnection != 0 { return true }
        return connections < limits.total && origin.connections < limits.perOrigin
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
