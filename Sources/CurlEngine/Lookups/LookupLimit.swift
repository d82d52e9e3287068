/// The bound on the number of lookups of host names that run at once, for all engines of a session together.
///
/// There is one thread for each lookup. The bound belongs to a session, not to the process: names that take long to resolve delay the
/// lookups of one session only. A lookup for which no transfer waits any more cannot be ended, and has another, higher bound.
///
/// Engines that have to wait get their turns in the order of their requests. Equal names of several engines are looked up once
/// (``SharedLookups``).
package final class LookupLimit: Sendable {
    /// The number of lookups that run at once by default.
    package static let defaultMaximum = 16

    /// The number of abandoned lookups that may run besides the others.
    static let maximumAbandoned = 64

    /// The number of lookups that may run at once.
    package let maximum: Int
    /// The names and addresses that the engines share.
    let shared = SharedLookups()

    private struct State {
        var running = 0
        /// The number of abandoned lookups, which are not among the running ones.
        var abandoned = 0
        /// The gates that wait for a turn, once for each name.
        var line = FIFO<any LookupTurnReceiver>()
    }

    private let state = Locked(State())

    /// Creates a bound.
    package init(maximum: Int = defaultMaximum) { self.maximum = max(maximum, 1) }

    /// The number of lookups that run now.
    package var runningCount: Int { state.withLock { $0.running } }

    /// The number of turns that were requested and not granted yet.
    package var waitingCount: Int { state.withLock { $0.line.count } }

    /// Begins a lookup. Returns `false` if the lookup has to wait; `receiver` is then notified later, when the lookup may begin.
    /// Every lookup that may begin must be ended by ``end()`` or ``abandon()``, whether it runs or not.
    func begin(_ receiver: any LookupTurnReceiver) -> Bool {
        state.withLock { state in
            guard state.running < maximum else {
                state.line.append(receiver)
                return false
            }
            state.running += 1
            return true
        }
    }

    /// Ends a lookup, whose turn goes to the one that has waited longest.
    func end() { state.withLock { endTurn(&$0) }?.grantTurn() }

    /// Returns the gate that gets the turn, if any.
    private func endTurn(_ state: inout State) -> (any LookupTurnReceiver)? {
        state.running -= 1
        guard state.running < maximum, let next = state.line.popFirst() else { return nil }
        state.running += 1
        return next
    }

    /// Ends the turn of a lookup that runs on, although no transfer waits for it. Returns `false`, and does nothing, if there are too many
    /// of these. An abandoned lookup must be ended by ``endAbandoned()``.
    func abandon() -> Bool {
        let (isAbandoned, next) = state.withLock { state -> (Bool, (any LookupTurnReceiver)?) in
            guard state.abandoned < Self.maximumAbandoned else { return (false, nil) }
            state.abandoned += 1
            return (true, endTurn(&state))
        }
        next?.grantTurn()
        return isAbandoned
    }

    /// Ends an abandoned lookup.
    func endAbandoned() { state.withLock { $0.abandoned -= 1 } }
}

/// A gate that waits for a turn to look up a name.
protocol LookupTurnReceiver: AnyObject, Sendable {
    /// Grants a turn. Called from any thread.
    func grantTurn()
}

/// Two bounds are equal if they are the same object.
extension LookupLimit: Hashable {
    package static func == (left: LookupLimit, right: LookupLimit) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
