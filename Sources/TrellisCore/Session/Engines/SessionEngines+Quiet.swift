import CurlEngine

/// The view of a clock that a test moves: whether everything that can happen has happened.
extension SessionEngines {
    /// The numbers of exchanges that have begun, and of exchanges that are under way. If both are the same as before, the exchanges are.
    package struct ExchangeCounts: Hashable, Sendable {
        /// The number of exchanges that have begun.
        package var begun = 0
        /// The number of exchanges that are under way.
        package var underWay = 0

        /// Creates counts of zero.
        package init() {}
    }

    /// Returns when the engines have handled everything that had reached them before the call.
    package func settle() async {
        for engine in started {
            // Submitted calls run before a turn of the loop, timers in the turn: a second call is sure to have a complete turn before
            // it. The others are for work that a turn puts off to a call of its own.
            for _ in 0..<4 { await engine.settle() }
        }
    }

    /// Returns the counts of the exchanges if each of a session's calls waits for the clock, for its peer, or for another call; `nil` if
    /// one does not.
    ///
    /// - Parameters:
    ///   - session: The session of the engines.
    ///   - calls: The calls that have not been released, of any session.
    ///   - sleepers: The calls and the limiters that wait for an instant of the clock, and whether others do.
    ///   - isPeerAtWork: Whether the peer of a call's exchange, by the call's number, is at work.
    package func countsIfQuiet(
        of session: Session, _ calls: [any AnyObject & Sendable],
        sleepers: (calls: Set<ObjectIdentifier>, hasOthers: Bool),
        isPeerAtWork: (UInt64) -> Bool
    ) -> ExchangeCounts? {
        let lists = all.map(\.site.list.counted)
        let exchanges = lists.flatMap(\.exchanges)
        let exchanging = Set(exchanges.map(\.prepared.callID))
        if !exchanges.allSatisfy({ $0.marks.hasBegun }) || exchanging.contains(where: isPeerAtWork) { return nil }
        var hasFollower = false
        var hasLeader = !exchanging.isEmpty || sleepers.hasOthers
        let underWay = calls.compactMap { $0 as? Call }.filter { $0.sender === session && Self.isUnderWay($0) }
        let numbers = exchanging.union(underWay.map(\.id))
        for call in underWay {
            if exchanging.contains(call.id) || sleepers.calls.contains(ObjectIdentifier(call)) {
                hasLeader = true
                continue
            }
            let (wait, awaitsRefresh) = call.record.withLock { ($0.wait, $0.awaitsRefresh) }
            switch wait {
            // The turns come with the clock.
            case .rate(let limiter, _, _, _) where sleepers.calls.contains(ObjectIdentifier(limiter)): hasLeader = true
            case .sharedAnswer(_, let other) where other.map(numbers.contains) ?? true: hasFollower = true
            default:
                guard awaitsRefresh else { return nil }
                hasFollower = true
            }
        }
        // A call cannot wait for another one if there is none: it is about to continue.
        guard hasLeader || !hasFollower else { return nil }
        var counts = ExchangeCounts()
        (counts.begun, counts.underWay) = (lists.reduce(0) { $0 + $1.added }, exchanges.count)
        return counts
    }

    /// Returns whether a call has begun, and its result is not decided.
    private static func isUnderWay(_ call: Call) -> Bool {
        call.record.withLock { (call.hasStart || $0.start != nil) && !$0.isDecided }
    }
}
