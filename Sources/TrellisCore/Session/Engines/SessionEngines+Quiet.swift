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
    ///   - waits: The numbers of waits for an instant of the clock, of calls and limiters.
    ///   - isWorkAtRest: Whether the tasks that run others' code for a call, by its number, are all at rest; `nil` if there is none.
    package func countsIfQuiet(
        of session: Session, _ calls: [any AnyObject & Sendable],
        waits: [ObjectIdentifier: Int], isWorkAtRest: (UInt64) -> Bool?
    ) -> ExchangeCounts? {
        let lists = all.map(\.site.list.counted)
        let exchanges = lists.flatMap(\.exchanges)
        let exchanging = exchanges.reduce(into: [UInt64: Int]()) { $0[$1.prepared.callID, default: 0] += 1 }
        if !exchanges.allSatisfy({ $0.marks.hasBegun })
            || exchanging.keys.contains(where: { isWorkAtRest($0) == false })
        {
            return nil
        }
        let underWay = calls.compactMap { $0 as? Call }.filter { $0.sender === session && $0.isUnderWay }
        let numbers = Set(exchanging.keys).union(underWay.map(\.id))
        for call in underWay {
            let (wait, refreshes, waitsAtRest) = call.record.withLock { ($0.wait, $0.refreshes, $0.waitsAtRest) }
            // A call has as many waits as something holds it up: what lets it continue ends one of them first.
            var count = exchanging[call.id, default: 0] + waits[ObjectIdentifier(call), default: 0]
            count += refreshes.count { isWorkAtRest($0) == true }
            let isHeldUp =
                switch wait {
                // The turn comes with the clock, or with the end of a call that is under way.
                case .turn(let limit, let host, _, _):
                    !limit.isTurnTimed(at: host) || waits[ObjectIdentifier(limit)] != nil
                case .sharedAnswer(_, let other): other.map(numbers.contains) ?? true
                case .function: isWorkAtRest(call.id) == true
                case nil: false
                }
            if count + (isHeldUp ? 1 : 0) < waitsAtRest { return nil }
        }
        var counts = ExchangeCounts()
        (counts.begun, counts.underWay) = (lists.reduce(0) { $0 + $1.added }, exchanges.count)
        return counts
    }
}
