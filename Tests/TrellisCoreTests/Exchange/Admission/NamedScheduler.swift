@testable import TrellisCore

/// The scheduler of one engine with origins by name, as its tests use them.
struct NamedScheduler<ID: Hashable> {
    private var queue: ConnectionScheduler<ID>
    private var places: [String: ConnectionScheduler<ID>.OriginIndex] = [:]
    private var probing: Set<ID> = []

    init(limits: ConnectionLimits) { queue = ConnectionScheduler(limits: limits) }

    var waitingCount: Int { queue.waitingCount }

    func activeCount(origin: String) -> Int { places[origin].map { queue.activeCount(at: $0) } ?? 0 }

    mutating func enter(
        _ id: ID, origin: String, mayShare: Bool = false, priority: RequestPriority = .normal
    ) -> Bool {
        let entry = queue.enter(id, origin: origin, mayShare: mayShare, priority: priority)
        places[origin] = entry.originIndex
        if entry.isProbing { probing.insert(id) }
        return entry.isAdmitted
    }

    func countAhead(of id: ID, origin: String) -> Int? { places[origin].map { queue.countAhead(of: id, at: $0) } }

    func isProbing(_ id: ID) -> Bool { probing.contains(id) }

    mutating func leave(_ id: ID, origin: String) {
        if let place = places[origin] { queue.leave(id, at: place) }
    }

    mutating func setConnections(_ count: Int, origin: String) { queue.setConnections(count, to: origin, on: 0) }

    mutating func probed(_ id: ID, origin: String, isShared: Bool) -> [ID] {
        places[origin].map { queue.probed(id, at: $0, isShared: isShared).map(\.id) } ?? []
    }

    mutating func release(_ id: ID, origin: String, isShared: Bool?) -> [ID] {
        places[origin].map { queue.release(id, at: $0, isShared: isShared).map(\.id) } ?? []
    }
}
