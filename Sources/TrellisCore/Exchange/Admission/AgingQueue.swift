/// A queue of waiting members, as a value: ordered by rank, the lowest number first, and by arrival within a rank.
///
/// A member's wait is limited: after ``patience`` members of lower ranks, the first member of a higher rank is next.
struct AgingQueue<ID: Hashable> {
    /// The number of members that may be served before the first member of a higher rank.
    static var patience: Int { 8 }

    /// The waiting members of one rank.
    struct Lane {
        /// The number of vacated spots up to which a lane is not compacted.
        static var slack: Int { 64 }

        /// The spots in the order of arrival. The ticket of a member that left is negative; the first and the last spot have a member.
        /// Vacated spots never outnumber the waiting members and ``slack`` together, and keep no reference to the member that left.
        var spots: [(ticket: Int, id: ID?)] = []
        /// The index of the first spot.
        var first = 0
        /// The number of waiting members.
        var count = 0
        /// The number of members of lower ranks that were served while a member of this lane waited.
        var overtaken = 0

        /// Returns the index of a ticket's spot, or the index at which the spot would be.
        func place(of ticket: Int) -> Int {
            var (low, high) = (first, spots.count)
            while low < high {
                let middle = (low + high) / 2
                if abs(spots[middle].ticket) < ticket { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Adds a member with a ticket that it had before, at the spot of that ticket. Returns `false` if another member has the ticket,
        /// because this member's was of another queue.
        mutating func insert(_ id: ID, ticket: Int) -> Bool {
            // The spot may have been released together with those before it.
            let previous = first
            first = 0
            let index = place(of: ticket)
            if index < spots.count, abs(spots[index].ticket) == ticket {
                guard spots[index].ticket < 0 else {
                    first = previous
                    return false
                }
                spots[index] = (ticket, id)
            } else {
                spots.insert((ticket, id), at: index)
            }
            count += 1
            first = count == 1 ? index : min(previous, index)
            return true
        }

        /// Removes a member. Its spot is released if it is the first or the last one, or if there are too many vacated spots.
        mutating func vacate(_ place: Int) {
            count -= 1
            if count == 0 { return self = Lane() }
            spots[place] = (-spots[place].ticket, nil)
            while spots[spots.count - 1].ticket < 0 { spots.removeLast() }
            while spots[first].ticket < 0 { first += 1 }
            guard spots.count > 2 * count + Self.slack else { return }
            // At least as many members have left as spots are moved, so that the cost per member is constant.
            spots.removeAll { $0.ticket < 0 }
            first = 0
        }
    }

    /// The number and the lane of a waiting member.
    struct Ticket: Sendable {
        let number: Int
        let lane: Int
    }

    /// The lanes by rank, as far as members have waited.
    var lanes: [Lane] = []
    var tickets: [ID: Ticket] = [:]
    var lastNumber = 0
    /// The number of waiting members. Unlike the dictionary's count, it is read without the metadata of the generic type.
    var memberCount = 0

    /// The number of waiting members.
    var count: Int { memberCount }

    /// Whether no member waits.
    var isEmpty: Bool { memberCount == 0 }

    /// Adds a member at the end of its rank, or according to a ticket that it had before. A member that waits already moves there.
    /// Returns the ticket of the member.
    @discardableResult
    mutating func enter(_ id: ID, rank lane: Int, ticket: Int? = nil) -> Int {
        while lanes.count <= lane { lanes.append(Lane()) }
        leave(id)
        memberCount += 1
        if let ticket, ticket <= lastNumber, lanes[lane].insert(id, ticket: ticket) {
            tickets[id] = Ticket(number: ticket, lane: lane)
            return ticket
        }
        lastNumber += 1
        tickets[id] = Ticket(number: lastNumber, lane: lane)
        lanes[lane].spots.append((lastNumber, id))
        lanes[lane].count += 1
        return lastNumber
    }

    /// Removes a member. Returns `false` if the member did not wait.
    @discardableResult
    mutating func leave(_ id: ID) -> Bool {
        guard let ticket = tickets.removeValue(forKey: id) else { return false }
        memberCount -= 1
        lanes[ticket.lane].vacate(lanes[ticket.lane].place(of: ticket.number))
        forgetCrowd()
        return true
    }

    /// Removes and returns the next member; `nil` if the queue is empty.
    mutating func next() -> ID? { nextLane().flatMap { serve($0, at: lanes[$0].first) } }

    /// Removes and returns the member at a spot.
    mutating func serve(_ lane: Int, at spot: Int) -> ID? {
        guard let id = lanes[lane].spots[spot].id else { return nil }
        tickets[id] = nil
        memberCount -= 1
        lanes[lane].overtaken = 0
        for lower in lanes.indices.dropFirst(lane + 1) where lanes[lower].count > 0 { lanes[lower].overtaken += 1 }
        lanes[lane].vacate(spot)
        forgetCrowd()
        return id
    }

    /// The next member; `nil` if the queue is empty.
    var first: ID? { nextLane().flatMap { lanes[$0].spots[lanes[$0].first].id } }

    /// The rank of the next member; `nil` if the queue is empty.
    var nextRank: Int? { nextLane() }

    /// The rank of the last lane that has members; `nil` if the queue is empty.
    var lastRank: Int? { lanes.lastIndex { $0.count > 0 } }

    /// The last member of a rank that has members.
    func last(ofRank rank: Int) -> ID? { lanes.indices.contains(rank) ? lanes[rank].spots.last?.id : nil }

    /// Returns the number of members of a rank.
    func count(ofRank rank: Int) -> Int { lanes.indices.contains(rank) ? lanes[rank].count : 0 }

    /// Releases the memory of a long queue once it is empty.
    mutating func forgetCrowd() {
        if tickets.isEmpty, tickets.capacity > Lane.slack { tickets = [:] }
    }

    /// Returns the number of members ahead of a member; `nil` if the member does not wait. The number is too high if members in between
    /// have left, but never higher than the number of waiting members.
    func countAhead(of id: ID) -> Int? {
        guard let ticket = tickets[id] else { return nil }
        let lane = lanes[ticket.lane]
        let spots = lane.place(of: ticket.number) - lane.first
        return lanes[..<ticket.lane].reduce(min(spots, lane.count - 1)) { $0 + $1.count }
    }

    /// Returns the number of members that would be ahead of a new member.
    func countAhead(ofRank rank: Int) -> Int { lanes.prefix(rank + 1).reduce(0) { $0 + $1.count } }

    func nextLane() -> Int? {
        lanes.firstIndex { $0.count > 0 && $0.overtaken >= Self.patience } ?? lanes.firstIndex { $0.count > 0 }
    }
}

extension AgingQueue: Sendable where ID: Sendable {}
extension AgingQueue.Lane: Sendable where ID: Sendable {}
