/// Who may use a connection now, as a value: first come, first served within an origin, and in turns between origins.
struct AdmissionQueue<ID: Hashable> {
    /// Streams that share a connection where requests are multiplexed.
    static var streamsPerConnection: Int { 100 }

    private struct Origin {
        var active = 0
        var isMultiplexed = false
        /// Who waits, by ticket. Those that left are still here until their turn comes.
        var waiting: [(ticket: Int, id: ID)] = []
        var first = 0
        var waitingCount = 0

        var connections: Int { isMultiplexed ? (active + streamsPerConnection - 1) / streamsPerConnection : active }
        var isEmpty: Bool { active == 0 && waitingCount == 0 }
    }

    private let limits: ConnectionLimits
    private var origins: [String: Origin] = [:]
    /// Connections that the active requests take.
    private var connections = 0
    private var tickets: [ID: Int] = [:]
    private var lastTicket = 0
    /// Origins that have waiting requests, in the order of their next turn.
    private var turns: [String] = []

    init(limits: ConnectionLimits) { self.limits = limits }

    /// Requests that wait.
    var waitingCount: Int { tickets.count }

    /// Asks for a slot; `true`: it is given at once.
    mutating func enter(_ id: ID, origin: String) -> Bool {
        if tickets.isEmpty || (origins[origin]?.waitingCount ?? 0) == 0, hasRoom(origin) {
            activate(origin, by: 1)
            return true
        }
        lastTicket += 1
        tickets[id] = lastTicket
        if origins[origin, default: Origin()].waitingCount == 0 { turns.append(origin) }
        origins[origin, default: Origin()].waiting.append((lastTicket, id))
        origins[origin, default: Origin()].waitingCount += 1
        return false
    }

    /// Gives up waiting.
    mutating func leave(_ id: ID, origin: String) {
        guard tickets.removeValue(forKey: id) != nil else { return }
        origins[origin]?.waitingCount -= 1
        forgetIfDone(origin)
    }

    /// Gives a slot back. Returns who gets one now.
    mutating func release(origin: String, isMultiplexed: Bool) -> [ID] {
        if isMultiplexed, origins[origin]?.isMultiplexed == false {
            connections -= origins[origin]?.connections ?? 0
            origins[origin]?.isMultiplexed = true
            connections += origins[origin]?.connections ?? 0
        }
        activate(origin, by: -1)
        let admitted = tickets.isEmpty ? [] : admitWaiting()
        forgetIfDone(origin)
        return admitted
    }

    /// Requests of an origin that have a slot.
    func activeCount(origin: String) -> Int { origins[origin]?.active ?? 0 }

    private mutating func admitWaiting() -> [ID] {
        var admitted: [ID] = []
        var skipped = 0
        while skipped < turns.count, connections < limits.total || turns.contains(where: { origins[$0]?.isMultiplexed == true }) {
            let origin = turns.removeFirst()
            guard let id = takeWaiting(origin) else {
                if (origins[origin]?.waitingCount ?? 0) > 0 {
                    turns.append(origin)
                    skipped += 1
                }
                continue
            }
            admitted.append(id)
            activate(origin, by: 1)
            if (origins[origin]?.waitingCount ?? 0) > 0 { turns.append(origin) }
            skipped = 0
        }
        return admitted
    }

    private mutating func takeWaiting(_ origin: String) -> ID? {
        guard hasRoom(origin), var queue = origins[origin] else { return nil }
        defer { origins[origin] = queue }
        while queue.first < queue.waiting.count {
            let (ticket, id) = queue.waiting[queue.first]
            queue.first += 1
            if queue.first > 64, queue.first * 2 > queue.waiting.count {
                queue.waiting.removeFirst(queue.first)
                queue.first = 0
            }
            guard tickets[id] == ticket else { continue }
            tickets[id] = nil
            queue.waitingCount -= 1
            return id
        }
        return nil
    }

    private func hasRoom(_ origin: String) -> Bool {
        let state = origins[origin] ?? Origin()
        if state.isMultiplexed, state.active % Self.streamsPerConnection != 0 { return true }
        return connections < limits.total && state.connections < limits.perOrigin
    }

    private mutating func activate(_ origin: String, by change: Int) {
        connections -= origins[origin, default: Origin()].connections
        origins[origin, default: Origin()].active += change
        connections += origins[origin, default: Origin()].connections
    }

    /// What an origin can do is remembered as long as it is in use.
    private mutating func forgetIfDone(_ origin: String) {
        guard let state = origins[origin], state.isEmpty else { return }
        if !state.isMultiplexed || origins.count > 1024 { origins[origin] = nil }
        turns.removeAll { $0 == origin }
    }
}
