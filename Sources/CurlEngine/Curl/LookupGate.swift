/// The gate before libcurl, in which the transfers of one engine wait for lookups of host names: for a lookup of the same name that is
/// running, or for a turn within the ``LookupLimit``. It belongs to the engine thread.
///
/// A transfer passes at once if its host is an address, or if libcurl will not look up the name: because it was looked up a short time ago,
/// so that libcurl has the addresses in its cache, or because libcurl has a connection for the transfer. Otherwise the first transfer with
/// a name leads: libcurl gets it, and either looks up the name or finds an idle connection; the other transfers with the name wait until
/// this is known, and share a failure of the lookup. A leader that is cancelled stays in libcurl until its lookup has ended, because
/// libcurl could not end the lookup's thread either.
final class LookupGate: LookupTurnReceiver, EngineTimerTarget, @unchecked Sendable {
    // Unchecked: every member except the constants is only accessed on the engine thread.

    /// The progress of a transfer's lookup.
    enum Progress {
        /// The transfer is not in the gate.
        case none
        /// The transfer waits.
        case waiting
        /// The transfer leads: libcurl has it or is about to get it, and may be looking up the name.
        case leading
    }

    /// The age up to which a lookup counts: libcurl's cache holds its result for 60 seconds. Tests set another one.
    var knownAge: Duration = .seconds(56)
    /// The age from which libcurl's cache certainly does not hold the result.
    static let forgottenAge: Duration = .seconds(64)

    /// The transfers with one name, while its lookup runs or waits for its turn.
    private struct Lookup {
        var leader: Transfer?
        /// The waiting transfers in the order of their arrival; some of them may have left.
        var waiting: [Transfer] = []
        /// The number of transfers in `waiting` that have left.
        var leftCount = 0

        var waitingCount: Int { waiting.count - leftCount }

        mutating func leave(_ transfer: Transfer) {
            leftCount += 1
            // At least as many transfers have left as are moved, so that the cost per transfer is constant.
            guard leftCount > 64, 2 * leftCount > waiting.count else { return }
            waiting.removeAll { $0.lookup != .waiting }
            leftCount = 0
        }
    }

    private let limit: LookupLimit
    private let executor: EngineExecutor

    /// The lookups that run across calls into libcurl, or that wait for a turn.
    private var lookups: [String: Lookup] = [:]
    /// The names that wait for a turn, in the order of their arrival; some may have left.
    private var line = FIFO<String>()
    /// The number of names in `lookups` that wait for a turn.
    private var lineCount = 0
    /// The number of turns that were requested and not granted yet.
    private var requestedTurns = 0
    /// The number of turns that were granted and not used yet.
    private var grantedTurns = 0
    /// The timer of the next look at the other engines; `nil` if no turn is awaited.
    private var timer: EngineTimer?
    /// The leaders that connect to an address of one kind while libcurl looks up those of the other kind.
    private var connecting: [Transfer] = []
    /// The instants of the last lookups, on the system's clock.
    private var known: [String: EngineInstant] = [:]
    /// The number of entries in `known` at which old entries are removed.
    private var knownLimit = 256
    /// The name of the last transfer that needed one, and the instant up to which its lookup counts.
    private var last: (name: String, until: EngineInstant) = ("", EngineInstant(nanoseconds: 0))

    init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        limit = configuration.lookups
    }

    /// Indicates whether transfers wait, or a granted turn is to be used.
    var isBusy: Bool { grantedTurns > 0 || !lookups.isEmpty }

    /// Indicates whether a turn was granted and not used yet.
    var hasTurn: Bool { grantedTurns > 0 }

    /// The number of waiting transfers.
    var waitingCount: Int { lookups.values.reduce(0) { $0 + $1.waitingCount } }

    private func name(_ transfer: Transfer) -> String? {
        transfer.options.route.lookedUpName(for: transfer.options.url)
    }

    // MARK: Entering

    /// Returns whether a transfer may be passed to libcurl now. Otherwise the transfer waits, and is returned later by ``takeTurns()``,
    /// ``takeWaiting(forConnectionOf:)`` or ``didEnd(_:isResolved:now:)``.
    ///
    /// - Parameter hasConnection: Indicates whether libcurl has a connection with room for the transfer.
    func admits(_ transfer: Transfer, now: EngineInstant, hasConnection: @autoclosure () -> Bool) -> Bool {
        if transfer.lookup == .leading { return true }
        guard let name = name(transfer) else { return true }
        if name != last.name {
            last = (name, known[name]?.advanced(by: knownAge) ?? EngineInstant(nanoseconds: 0))
        }
        if now < last.until { return true }
        guard hasConnection() else {
            let leads = leads(transfer, name)
            if !leads { transfer.reportLookup() }
            return leads
        }
        // The connection may turn out to be dead. Therefore the transfer leads, but without waiting for a turn.
        limit.beginAnyway(self)
        transfer.lookup = .leading
        return true
    }

    /// Returns whether a transfer leads the lookup of its name. Otherwise the transfer waits.
    private func leads(_ transfer: Transfer, _ name: String) -> Bool {
        if !lookups.isEmpty, lookups[name] != nil {
            transfer.lookup = .waiting
            lookups[name]?.waiting.append(transfer)
            return false
        }
        // A turn may have been requested for a name that has left since.
        if requestedTurns <= lineCount {
            if limit.begin(self) {
                transfer.lookup = .leading
                return true
            }
            requestedTurns += 1
            setTimer()
        }
        transfer.lookup = .waiting
        lookups[name] = Lookup(waiting: [transfer])
        line.append(name)
        lineCount += 1
        return false
    }

    /// Records that libcurl has a leader, and has not found out in its first call whether the name must be looked up.
    func isStillLeading(_ transfer: Transfer) {
        guard let name = name(transfer) else { return }
        transfer.reportLookup()
        guard let lookup = lookups[name] else { return lookups[name] = Lookup(leader: transfer) }
        // If the transfer passed because of a connection, others with its name may lead or wait for a turn already.
        guard lookup.leader == nil else { return }
        lookups[name]?.leader = transfer
        lineCount -= 1
    }

    // MARK: Turns

    /// The time between two looks at the other engines, while a turn is awaited.
    private static let interval = Duration.milliseconds(100)

    private func setTimer() {
        guard timer == nil else { return }
        let timer = EngineTimer(self)
        self.timer = timer
        executor.engineLoop.set(timer, at: executor.now.advanced(by: Self.interval))
    }

    /// Looks whether an engine has become stuck, whose lookups then no longer count.
    func timerIsDue() {
        timer = nil
        guard requestedTurns > 0 else { return }
        limit.reexamine()
        setTimer()
    }

    var isStuck: Bool { executor.isStuck }

    func grantTurn() { executor.submit { self.turnWasGranted() } }

    private func turnWasGranted() {
        requestedTurns -= 1
        // Without a name that waits, another engine gets the turn.
        if grantedTurns < lineCount { grantedTurns += 1 } else { limit.end(self) }
    }

    /// Returns the transfers whose turn has come, as leaders.
    func takeTurns() -> [Transfer] {
        var leaders: [Transfer] = []
        while grantedTurns > 0 {
            grantedTurns -= 1
            if let leader = nextLeader() { leaders.append(leader) } else { limit.end(self) }
        }
        return leaders
    }

    private func nextLeader() -> Transfer? {
        while let name = line.popFirst() {
            guard let lookup = lookups[name], lookup.leader == nil,
                let leader = lookup.waiting.first(where: { $0.lookup == .waiting })
            else { continue }
            lineCount -= 1
            leader.lookup = .leading
            lookups[name] = Lookup(leader: leader, waiting: lookup.waiting.filter { $0.lookup == .waiting })
            return leader
        }
        return nil
    }

    // MARK: Incomplete lookups

    /// Indicates whether leaders connect although their lookups are incomplete.
    var hasConnecting: Bool { !connecting.isEmpty }

    /// Records that a leader connects although its lookup is incomplete. It leads until libcurl has all addresses, or is connected.
    func isConnecting(_ leader: Transfer) {
        if !connecting.contains(where: { $0 === leader }) { connecting.append(leader) }
    }

    /// Removes and returns the leaders whose lookups have become complete while they connect.
    func takeComplete() -> [Transfer] {
        connecting.removeAll { $0.lookup != .leading }
        let complete = connecting.filter(\.hasCompleteLookup)
        connecting.removeAll(where: \.hasCompleteLookup)
        return complete
    }

    // MARK: Leaving

    /// Records that a leader needs no lookup any more: libcurl has the addresses, or uses an idle connection, or the transfer has ended.
    /// Returns the transfers that waited for this, which enter the gate again.
    ///
    /// - Parameter isResolved: Indicates whether libcurl has the addresses.
    func didEnd(_ transfer: Transfer, isResolved: Bool, now: EngineInstant) -> [Transfer] {
        guard transfer.lookup == .leading else { return [] }
        transfer.lookup = .none
        limit.end(self)
        guard let name = name(transfer) else { return [] }
        if isResolved { note(name, now) }
        guard !lookups.isEmpty, let lookup = lookups[name], lookup.leader === transfer else { return [] }
        lookups[name] = nil
        let waiting = lookup.waiting.filter { $0.lookup == .waiting }
        for transfer in waiting { transfer.lookup = .none }
        return waiting
    }

    /// Indicates whether transfers may wait.
    var hasWaiting: Bool { !lookups.isEmpty }

    /// Removes and returns a transfer that waits for a lookup and can use the connection of another one; `nil` if none waits. The transfer
    /// enters the gate again, and passes because of the connection.
    func takeWaiting(forConnectionOf other: Transfer) -> Transfer? {
        let pool = other.options.pool
        guard let name = name(other),
            let next = lookups[name]?.waiting.first(where: { $0.lookup == .waiting && $0.options.pool == pool })
        else { return nil }
        leave(next)
        return next
    }

    /// Removes a waiting transfer.
    func leave(_ transfer: Transfer) {
        guard transfer.lookup == .waiting else { return }
        transfer.lookup = .none
        guard let name = name(transfer) else { return }
        lookups[name]?.leave(transfer)
        guard let lookup = lookups[name], lookup.leader == nil, lookup.waitingCount == 0 else { return }
        lookups[name] = nil
        lineCount -= 1
        if line.count > 2 * lineCount + 64 {
            var seen: Set<String> = []
            line.removeAll { lookups[$0].map { $0.leader != nil } ?? true || !seen.insert($0).inserted }
        }
    }

    /// Ends all lookups because libcurl ends, and forgets their results. Returns the transfers that waited.
    func close() -> [Transfer] {
        timer = nil
        var waiting: [Transfer] = []
        for lookup in lookups.values {
            waiting += lookup.waiting.filter { $0.lookup == .waiting }
            guard let leader = lookup.leader, leader.lookup == .leading else { continue }
            leader.lookup = .none
            limit.end(self)
        }
        for transfer in waiting { transfer.lookup = .none }
        for _ in 0..<grantedTurns { limit.end(self) }
        grantedTurns = 0
        connecting = []
        lookups = [:]
        line = FIFO()
        lineCount = 0
        known = [:]
        last = ("", EngineInstant(nanoseconds: 0))
        return waiting
    }

    private func note(_ name: String, _ now: EngineInstant) {
        // The addresses may be from libcurl's cache, and as old as that.
        if let instant = known[name], now < instant.advanced(by: Self.forgottenAge) { return }
        known[name] = now
        last = (name, now.advanced(by: knownAge))
        guard known.count > knownLimit else { return }
        known = known.filter { now < $0.value.advanced(by: Self.forgottenAge) }
        knownLimit = max(256, 2 * known.count)
    }

    // MARK: Errors

    /// Returns the reason why a transfer is not connected yet, for errors; `nil` if no lookup is the reason.
    func reason(for transfer: Transfer) -> String? {
        let host = transfer.options.route.proxy.map { ($0.first ?? $0).name } ?? transfer.options.url.host
        switch transfer.lookup {
        case .none: return nil
        case .leading: return "the name \(host) is being looked up"
        case .waiting:
            guard name(transfer).flatMap({ lookups[$0] })?.leader == nil else {
                return "the name \(host) is being looked up for another request"
            }
            return "the lookup of the name \(host) waits, because \(limit.maximum) others are running"
        }
    }
}
