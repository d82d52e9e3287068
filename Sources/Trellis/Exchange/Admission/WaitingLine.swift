/// Who waits, and who is next, as a value: first come, first served among those of one priority, and the higher priority first.
///
/// Nobody waits for ever: whoever is first of a priority goes when ``patience`` others of higher ones have gone before.
struct WaitingLine<ID: Hashable> {
    /// How many others may go before the first of a lower priority.
    static var patience: Int { 8 }

    fileprivate struct Lane {
        /// Spots of members that have left: so many are of no account.
        static var slack: Int { 64 }

        /// In the order of their coming. The ticket of a member that left is negative; the first spot is never such a one. Spots of
        /// members that left are never more than those of members that wait, and ``slack``.
        var spots: [(ticket: Int, id: ID)] = []
        var first = 0
        /// Members that wait.
        var count = 0
        /// How many others have gone while somebody waited here.
        var overtaken = 0

        /// The spot of a ticket, or the one where it would be.
        func place(of ticket: Int) -> Int {
            var (low, high) = (first, spots.count)
            while low < high {
                let middle = (low + high) / 2
                if abs(spots[middle].ticket) < ticket { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Takes a member out; its spot goes when it is the first one, or when there are too many like it.
        mutating func vacate(_ place: Int) {
            count -= 1
            if count == 0 { return self = Lane() }
            spots[place].ticket = -spots[place].ticket
            while spots[first].ticket < 0 { first += 1 }
            guard spots.count > 2 * count + Self.slack else { return }
            // As many have left as are moved, so that each costs a constant.
            spots.removeAll { $0.ticket < 0 }
            first = 0
        }
    }

    private struct Ticket: Sendable {
        let number: Int
        let lane: Int
    }

    /// By priority, the highest first; made when somebody waits.
    private var lanes: [Lane] = []
    private var tickets: [ID: Ticket] = [:]
    private var lastNumber = 0

    var count: Int { tickets.count }

    var isEmpty: Bool { tickets.isEmpty }

    /// Waits; an ID that waits already, at the end.
    mutating func enter(_ id: ID, _ priority: RequestPriority = .normal) {
        if lanes.isEmpty { lanes = RequestPriority.allCases.map { _ in Lane() } }
        leave(id)
        lastNumber += 1
        let lane = Self.lane(priority)
        tickets[id] = Ticket(number: lastNumber, lane: lane)
        lanes[lane].spots.append((lastNumber, id))
        lanes[lane].count += 1
    }

    /// Gives up waiting; `false` for somebody who did not wait.
    @discardableResult
    mutating func leave(_ id: ID) -> Bool {
        guard let ticket = tickets.removeValue(forKey: id) else { return false }
        lanes[ticket.lane].vacate(lanes[ticket.lane].place(of: ticket.number))
        forgetCrowd()
        return true
    }

    /// Takes out who is next.
    mutating func next() -> ID? {
        guard let lane = nextLane() else { return nil }
        let id = lanes[lane].spots[lanes[lane].first].id
        tickets[id] = nil
        lanes[lane].overtaken = 0
        for lower in lanes.indices.dropFirst(lane + 1) where lanes[lower].count > 0 { lanes[lower].overtaken += 1 }
        lanes[lane].vacate(lanes[lane].first)
        forgetCrowd()
        return id
    }

    /// Who is next.
    var first: ID? { nextLane().map { lanes[$0].spots[lanes[$0].first].id } }

    /// Spots that are held in memory, with those of members that left.
    var spotCount: Int { lanes.reduce(0) { $0 + $1.spots.count } }

    /// The memory of a crowd goes with it.
    private mutating func forgetCrowd() {
        if tickets.isEmpty, tickets.capacity > Lane.slack { tickets = [:] }
    }

    /// How many go before somebody: more where some in between have left, but never more than wait.
    func countAhead(of id: ID) -> Int? {
        guard let ticket = tickets[id] else { return nil }
        let lane = lanes[ticket.lane]
        let spots = lane.place(of: ticket.number) - lane.first
        return lanes[..<ticket.lane].reduce(min(spots, lane.count - 1)) { $0 + $1.count }
    }

    /// How many would go before somebody who came now.
    func countAhead(of priority: RequestPriority) -> Int {
        lanes.isEmpty ? 0 : lanes[...Self.lane(priority)].reduce(0) { $0 + $1.count }
    }

    private static func lane(_ priority: RequestPriority) -> Int {
        Int(RequestPriority.high.rawValue - priority.rawValue)
    }

    private func nextLane() -> Int? {
        lanes.firstIndex { $0.count > 0 && $0.overtaken >= Self.patience } ?? lanes.firstIndex { $0.count > 0 }
    }
}

extension WaitingLine: Sendable where ID: Sendable {}
extension WaitingLine.Lane: Sendable where ID: Sendable {}
