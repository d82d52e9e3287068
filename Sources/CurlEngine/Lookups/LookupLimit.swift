/// The bound on the number of lookups of host names that run at once, for all engines of a session together.
///
/// There is one thread for each lookup. The bound belongs to a session, not to the process: names that take long to resolve delay the
/// lookups of their own session only. A lookup for which no transfer waits any more cannot be ended, and has a higher bound of its own.
///
/// Engines that have to wait get their turns in the order of their requests. An engine that is stuck ends no lookup, and so the others need
/// not wait for its lookups: the bound applies to the lookups of the others. Equal names of several engines are looked up once
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

    /// The lookups of one gate.
    private struct Holder {
        let gate: any LookupTurnReceiver
        /// The number of its lookups that run.
        var running = 0
        /// The number of its turns that came while its engine was stuck.
        var passedOver = 0
    }

    private struct State {
        var running = 0
        /// The number of abandoned lookups, which are not among the running ones.
        var abandoned = 0
        /// The gates that wait for a turn, once for each name.
        var line = FIFO<any LookupTurnReceiver>()
        /// The gates with running lookups, or with turns that came while their engines were stuck: these gates are next as soon as they
        /// can use a turn.
        var holders: [Holder] = []

        /// Returns whether a maximum number of lookups runs. The lookups of other engines that are stuck do not count, because they cannot
        /// end.
        func isFull(_ maximum: Int, for gate: (any LookupTurnReceiver)? = nil) -> Bool {
            guard running >= maximum else { return false }
            let stuck = holders.reduce(0) {
                $0 + ($1.running > 0 && $1.gate !== gate && $1.gate.isStuck ? $1.running : 0)
            }
            return running - stuck >= maximum
        }

        private mutating func change(_ gate: any LookupTurnReceiver, _ change: (inout Holder) -> Void) {
            let index = holders.firstIndex { $0.gate === gate } ?? holders.endIndex
            if index == holders.endIndex { holders.append(Holder(gate: gate)) }
            change(&holders[index])
            if holders[index].running == 0, holders[index].passedOver == 0 { holders.remove(at: index) }
        }

        mutating func count(_ gate: any LookupTurnReceiver) {
            running += 1
            change(gate) { $0.running += 1 }
        }

        mutating func uncount(_ gate: any LookupTurnReceiver) {
            running -= 1
            change(gate) { $0.running -= 1 }
        }

        /// Removes and returns the next gate whose engine is not stuck; `nil` if none waits.
        mutating func next() -> (any LookupTurnReceiver)? {
            if let gate = holders.first(where: { $0.passedOver > 0 && !$0.gate.isStuck })?.gate {
                change(gate) { $0.passedOver -= 1 }
                return gate
            }
            while let gate = line.popFirst() {
                if !gate.isStuck { return gate }
                change(gate) { $0.passedOver += 1 }
            }
            return nil
        }

        /// Removes and returns a gate whose engine is stuck; `nil` if none waits.
        mutating func nextStuck() -> (any LookupTurnReceiver)? {
            guard let gate = holders.first(where: { $0.passedOver > 0 })?.gate else { return nil }
            change(gate) { $0.passedOver -= 1 }
            return gate
        }
    }

    private let state = Locked(State())

    /// Creates a bound.
    package init(maximum: Int = defaultMaximum) { self.maximum = max(maximum, 1) }

    /// The number of lookups that run now.
    package var runningCount: Int { state.withLock { $0.running } }

    /// The number of turns that were requested and not granted yet.
    package var waitingCount: Int { state.withLock { $0.holders.reduce($0.line.count) { $0 + $1.passedOver } } }

    /// Begins a lookup. Returns `false` if the lookup has to wait; `receiver` is then notified later, when the lookup may begin.
    /// Every lookup that may begin must be ended by ``end(_:)`` or ``abandon(_:)``, whether it runs or not.
    func begin(_ receiver: any LookupTurnReceiver) -> Bool {
        let (isGranted, turns) = state.withLock { state -> (Bool, [any LookupTurnReceiver]) in
            // The lookups of an engine that has become stuck have made room for the gates that wait.
            let turns = takeTurns(&state)
            guard !state.isFull(maximum, for: receiver) else {
                state.line.append(receiver)
                return (false, turns)
            }
            state.count(receiver)
            return (true, turns)
        }
        for gate in turns { gate.grantTurn() }
        return isGranted
    }

    /// Grants turns if engines have become stuck, so that their lookups no longer count. Gates that wait call this from time to time.
    func reexamine() {
        let turns = state.withLock { takeTurns(&$0) }
        for gate in turns { gate.grantTurn() }
    }

    /// Counts lookups for the gates that wait, as long as there is room, and returns these gates.
    private func takeTurns(_ state: inout State) -> [any LookupTurnReceiver] {
        guard !state.line.isEmpty || state.holders.contains(where: { $0.passedOver > 0 }) else { return [] }
        var turns: [any LookupTurnReceiver] = []
        while !state.isFull(maximum), let gate = state.next() {
            state.count(gate)
            turns.append(gate)
        }
        return turns
    }

    /// Begins a lookup that probably does not take place, even beyond the bound. It must be ended by ``end(_:)``.
    func beginAnyway(_ receiver: any LookupTurnReceiver) { state.withLock { $0.count(receiver) } }

    /// Ends a lookup, whose turn goes to the one that has waited longest. An engine that is stuck gets a turn only if no other one waits.
    func end(_ receiver: any LookupTurnReceiver) {
        let turns = state.withLock { endTurn(of: receiver, &$0) }
        for gate in turns { gate.grantTurn() }
    }

    private func endTurn(of receiver: any LookupTurnReceiver, _ state: inout State) -> [any LookupTurnReceiver] {
        state.uncount(receiver)
        let turns = takeTurns(&state)
        guard turns.isEmpty, state.running < maximum, let gate = state.nextStuck() else { return turns }
        state.count(gate)
        return [gate]
    }

    /// Ends the turn of a lookup that runs on, although no transfer waits for it. Returns `false`, and does nothing, if there are too many
    /// of these. An abandoned lookup must be ended by ``endAbandoned()``.
    func abandon(_ receiver: any LookupTurnReceiver) -> Bool {
        let turns = state.withLock { state -> [any LookupTurnReceiver]? in
            guard state.abandoned < Self.maximumAbandoned else { return nil }
            state.abandoned += 1
            return endTurn(of: receiver, &state)
        }
        for gate in turns ?? [] { gate.grantTurn() }
        return turns != nil
    }

    /// Ends an abandoned lookup.
    func endAbandoned() { state.withLock { $0.abandoned -= 1 } }
}

/// A gate that waits for a turn to look up a name.
protocol LookupTurnReceiver: AnyObject, Sendable {
    /// Grants a turn. Called from any thread.
    func grantTurn()
    /// Whether the gate cannot use a turn at present, because its engine is stuck.
    var isStuck: Bool { get }
}

/// Two bounds are equal if they are the same object.
extension LookupLimit: Hashable {
    package static func == (left: LookupLimit, right: LookupLimit) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
