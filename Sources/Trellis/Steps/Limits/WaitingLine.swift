/// Who waits, and who is next, as a value: first come, first served among those of one priority, and the higher priority first.
///
/// Nobody waits for ever: whoever is first of a priority goes when ``patience`` others of higher ones have gone before.
struct WaitingLine<ID: Hashable> {
    /// How many others may go before the first of a lower priority.
    static var patience: Int { 8 }

    fileprivate struct Lane {
        /// In the order of their coming. Those that left are still here until their turn comes.
        var spots: [(ticket: Int, id: ID)] = []
        var first = 0
        /// Who has not left.
        var count = 0
        /// How many others have gone while somebody waited here.
        var overtaken = 0

        mutating func compact() {
            if count == 0 { return self = Lane() }
            guard first > 64, first * 2 > spots.count else { return }
            spots.removeFirst(first)
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

    /// Waits. An ID waits once at a time.
    mutating func enter(_ id: ID, _ priority: RequestPriority = .normal) {
        if lanes.isEmpty { lanes = RequestPriority.allCases.map { _ in Lane() } }
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
        lanes[ticket.lane].count -= 1
        // So that those behind count right who is ahead of them.
        skip(ticket.lane)
        return true
    }

    /// Takes out who is next.
    mutating func next() -> ID? {
        guard !tickets.isEmpty, let lane = nextLane() else { return nil }
        skip(lane)
        let id = lanes[lane].spots[lanes[lane].first].id
        tickets[id] = nil
        lanes[lane].first += 1
        lanes[lane].count -= 1
        lanes[lane].overtaken = 0
        for lower in lanes.indices.dropFirst(lane + 1) where lanes[lower].count > 0 { lanes[lower].overtaken += 1 }
        lanes[lane].compact()
        return id
    }

    /// How many go before somebody: a few more where some in between have left.
    func countAhead(of id: ID) -> Int? {
        guard let ticket = tickets[id] else { return nil }
        let lane = lanes[ticket.lane]
        var (low, high) = (lane.first, lane.spots.count)
        while low < high {
            let middle = (low + high) / 2
            if lane.spots[middle].ticket < ticket.number { low = middle + 1 } else { high = middle }
        }
        return lanes[..<ticket.lane].reduce(min(low - lane.first, lane.count - 1)) { $0 + $1.count }
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

    /// Passes those over who have left.
    private mutating func skip(_ lane: Int) {
        while lanes[lane].first < lanes[lane].spots.count {
            let (number, id) = lanes[lane].spots[lanes[lane].first]
            if tickets[id]?.number == number { break }
            lanes[lane].first += 1
        }
        lanes[lane].compact()
    }
}

extension WaitingLine: Sendable where ID: Sendable {}
extension WaitingLine.Lane: Sendable where ID: Sendable {}
