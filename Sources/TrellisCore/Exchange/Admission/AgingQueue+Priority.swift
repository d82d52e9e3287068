import CurlEngine

/// Queues of requests. A higher priority is a lower rank.
extension AgingQueue {
    /// Adds a member at the end of its priority. A member that waits already moves there.
    mutating func enter(_ id: ID, _ priority: RequestPriority = .normal) { enter(id, rank: priority.rank) }

    /// Returns the number of members that would be ahead of a new member.
    func countAhead(of priority: RequestPriority) -> Int { countAhead(ofRank: priority.rank) }
}

extension RequestPriority {
    /// The rank among requests that wait. The lowest is first.
    var rank: Int { Int(Self.high.rawValue - rawValue) }
}
