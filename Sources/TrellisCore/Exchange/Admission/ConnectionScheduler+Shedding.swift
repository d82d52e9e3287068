import CurlEngine

/// The requests that the scheduler refuses because their wait would be for nothing, or because too many wait.
///
/// It is asked about a request that has just begun to wait, and only if ``ConnectionLimits`` say so: no other request costs anything. Of
/// two requests, the one of the lower priority is refused, and of the same priority the later one.
extension ConnectionScheduler {
    /// A request that has left the queue because it is refused.
    struct Shed: Hashable {
        let id: ID
        /// The number of requests of its origin that were ahead of it.
        let ahead: Int
        /// The estimated wait in nanoseconds; `nil` if too many requests wait.
        let wait: UInt64?
    }

    /// Returns the request that is refused because a new one waits, if any: the new one or another of its origin.
    ///
    /// - Parameters:
    ///   - deadline: When the new request fails if it still waits; `nil` if it has no deadline.
    mutating func shed(
        for id: ID, at originIndex: OriginIndex, _ priority: RequestPriority, deadline: EngineInstant?,
        now: EngineInstant
    ) -> Shed? {
        let index = originIndex.value
        guard origins[index].countAhead(of: id) != nil else { return nil }
        if limits.shedsLateRequests, let deadline, isHeldByOwnLimit(index, id),
            let wait = turnovers[index]?.wait(
                behind: origins[index].countAhead(ofRank: priority.rank) - 1, places: origins[index].active, at: now),
            now.advanced(byNanoseconds: wait) >= deadline
        {
            return refuse(id, at: originIndex, priority.rank, wait: wait)
        }
        guard let most = limits.waitingPerOrigin, origins[index].waitingCount > most,
            let last = origins[index].lastWaiting(rank: priority.rank, id)
        else { return nil }
        return refuse(last.id, at: originIndex, last.rank, wait: nil)
    }

    private mutating func refuse(_ id: ID, at originIndex: OriginIndex, _ rank: Int, wait: UInt64?) -> Shed {
        let ahead = origins[originIndex.value].countAhead(ofRank: rank) - 1
        leave(id, at: originIndex)
        return Shed(id: id, ahead: max(ahead, 0), wait: wait)
    }

    /// Returns whether a waiting request would get its slot from another one of its origin, whose times are known. At the limit in total,
    /// or while the first connection is made, others decide.
    private mutating func isHeldByOwnLimit(_ index: Int, _ id: ID) -> Bool {
        if case .probed = origins[index].sharing { return false }
        return origins[index].room(
            perOrigin: limits.perOrigin, requests: limits.requestsPerOrigin ?? .max, engine: engineOf?(id)) == .none
    }

    // MARK: Measurements

    /// Records that a request has got its slot, if its time is measured.
    mutating func measureBegin(at originIndex: OriginIndex, now: EngineInstant) {
        turnovers[originIndex.value, default: Turnover()].begin(at: now)
    }

    /// Records for how long a request has held its slot, before it releases it.
    mutating func measureEnd(at originIndex: OriginIndex, after held: UInt64, now: EngineInstant) {
        turnovers[originIndex.value, default: Turnover()].end(after: held, at: now)
    }
}
