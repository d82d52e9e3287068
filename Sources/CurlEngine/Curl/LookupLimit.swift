/// The bound on the number of lookups of host names that run at once, for all engines of a session together.
///
/// Before 8.20, libcurl starts one thread per lookup. The bound belongs to a session, not to the process: names that take long to resolve
/// delay the lookups of their own session only. Engines that have to wait get their turns in the order of their requests.
package final class LookupLimit: Sendable {
    /// The number of lookups that run at once by default.
    package static let defaultMaximum = 16

    /// The number of lookups that may run at once.
    package let maximum: Int

    private struct State {
        var running = 0
        var peak = 0
        /// The gates that wait for a turn, once for each name.
        var line = FIFO<any LookupTurnReceiver>()
        /// The gates whose turn came while their engines were stuck: they are next as soon as they can use it.
        var passedOver = FIFO<any LookupTurnReceiver>()

        /// Removes and returns the next gate; `nil` if none waits. A gate whose engine is stuck is next only if no other one waits.
        mutating func next() -> (any LookupTurnReceiver)? {
            if let gate = passedOver.peek, !gate.isStuck { return passedOver.popFirst() }
            while let gate = line.popFirst() {
                if !gate.isStuck { return gate }
                passedOver.append(gate)
            }
            return passedOver.popFirst()
        }
    }

    private let state = Locked(State())

    /// Creates a bound.
    package init(maximum: Int = defaultMaximum) { self.maximum = max(maximum, 1) }

    /// The number of lookups that run now.
    package var runningCount: Int { state.withLock { $0.running } }

    /// The largest number of lookups that have run at once.
    package var peakCount: Int { state.withLock { $0.peak } }

    /// The number of turns that were requested and not granted yet.
    package var waitingCount: Int { state.withLock { $0.line.count + $0.passedOver.count } }

    /// Begins a lookup. Returns `false` if the lookup has to wait; `receiver` is then notified later, when the lookup may begin.
    /// Every lookup that may begin must be ended by ``end()``, whether it runs or not.
    func begin(_ receiver: any LookupTurnReceiver) -> Bool {
        state.withLock { state in
            guard state.running >= maximum else {
                state.running += 1
                state.peak = max(state.peak, state.running)
                return true
            }
            state.line.append(receiver)
            return false
        }
    }

    /// Begins a lookup that probably does not take place, even beyond the bound. It must be ended by ``end()``.
    func beginAnyway() { state.withLock { $0.running += 1 } }

    /// Ends a lookup, whose turn goes to the one that has waited longest.
    func end() {
        let next = state.withLock { state -> (any LookupTurnReceiver)? in
            guard state.running <= maximum else {
                state.running -= 1
                return nil
            }
            let next = state.next()
            if next == nil { state.running -= 1 }
            return next
        }
        next?.grantTurn()
    }
}

/// A gate that waits for a turn to look up a name.
protocol LookupTurnReceiver: AnyObject, Sendable {
    /// Grants a turn. Called from any thread.
    func grantTurn()
    /// Indicates whether the gate cannot use a turn at present, because its engine is stuck.
    var isStuck: Bool { get }
}

/// Two bounds are equal if they are the same object.
extension LookupLimit: Hashable {
    package static func == (left: LookupLimit, right: LookupLimit) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
