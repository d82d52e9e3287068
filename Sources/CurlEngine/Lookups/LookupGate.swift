/// The gate in which the transfers of one engine wait for lookups of host names. It belongs to the engine thread.
///
/// A transfer passes at once if nothing is looked up: the host is an address, or its addresses are known. Otherwise the first transfer
/// with a name leads, and takes a turn within the ``LookupLimit``. The others with the name wait, and share a failure. A leader that is
/// cancelled stays until the lookup has ended, because nobody can end its thread, but gives up its turn unless others wait.
///
/// The engines of a session share the addresses (``SharedLookups``). While another engine looks up the name, transfers wait for that
/// lookup, share its failure, or enter the gate again.
final class LookupGate: LookupTurnReceiver, LookupFollower, @unchecked Sendable {
    // Unchecked: every member except the constants is only accessed on the engine thread.

    /// The progress of a transfer's lookup.
    enum Progress {
        /// The transfer is not in the gate.
        case none
        /// The transfer waits.
        case waiting
        /// The transfer leads: its name is being looked up, or about to be.
        case leading
    }

    /// The age up to which a lookup counts. Tests set another one.
    var knownAge: Duration = .seconds(56)

    /// The transfers with one name, while its lookup runs or waits for its turn.
    struct Lookup {
        var leader: Transfer?
        /// Whether no transfer waits for the lookup, so that it has no turn. Transfers that come later wait for it all the same.
        var isAbandoned = false
        /// Whether another engine looks up the name.
        var isOfOther = false
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

    let limit: LookupLimit
    let executor: EngineExecutor

    /// The lookups that run, that wait for a turn, or that other engines make.
    var lookups: [String: Lookup] = [:]
    /// The names that wait for a turn, in the order of their arrival; some may have left.
    private var line = FIFO<String>()
    /// The number of names in `lookups` that wait for a turn.
    private var lineCount = 0
    /// The number of turns that were requested and not granted yet.
    private var requestedTurns = 0
    /// The number of turns that were granted and not used yet.
    private var grantedTurns = 0
    /// The name of the last transfer that needed one, and the instant up to which its lookup counts.
    private var last: (name: String, until: EngineInstant) = ("", EngineInstant(nanoseconds: 0))

    init(executor: EngineExecutor, configuration: EngineConfiguration) {
        self.executor = executor
        limit = configuration.lookups
    }

    /// Whether transfers wait, or a granted turn is to be used.
    var isBusy: Bool { grantedTurns > 0 || !lookups.isEmpty }

    /// Whether a turn was granted and not used yet.
    var hasTurn: Bool { grantedTurns > 0 }

    /// The number of waiting transfers.
    var waitingCount: Int { lookups.values.reduce(0) { $0 + $1.waitingCount } }

    private func name(_ transfer: Transfer) -> String? {
        transfer.options.route.lookedUpName(for: transfer.options.url)
    }

    // MARK: Entering

    /// Returns the addresses of a host that the engines themselves have looked up, as long as that lookup counts.
    func addresses(of host: String, _ family: TransferRoute.Family, now: EngineInstant) -> [IPAddress]? {
        limit.shared.addresses(of: host, family, age: knownAge, now: now)
    }

    /// Returns whether the name of a transfer may be looked up now. Otherwise the transfer waits, and is returned later by ``takeTurns()``,
    /// ``takeWaiting(forConnectionOf:)`` or ``didEnd(_:isResolved:failure:now:)``.
    func admits(_ transfer: Transfer, now: EngineInstant) -> Bool {
        if transfer.lookup == .leading { return true }
        guard let name = name(transfer) else { return true }
        if name != last.name {
            last = (name, limit.shared.lastLookup(of: name)?.advanced(by: knownAge) ?? EngineInstant(nanoseconds: 0))
        }
        if now < last.until { return true }
        let mayPass = passes(transfer, to: name, now: now)
        if !mayPass { transfer.reportLookup() }
        return mayPass
    }

    /// Returns whether a transfer leads the lookup of its name, or needs none because another engine has made it. Otherwise the transfer
    /// waits.
    private func passes(_ transfer: Transfer, to name: String, now: EngineInstant) -> Bool {
        if !lookups.isEmpty, lookups[name] != nil {
            transfer.lookup = .waiting
            lookups[name]?.waiting.append(transfer)
            return false
        }
        switch limit.shared.claim(name, for: self, age: knownAge, now: now) {
        case .leads: break
        case .known(let instant):
            last = (name, instant.advanced(by: knownAge))
            return true
        case .follows:
            transfer.lookup = .waiting
            lookups[name] = Lookup(isOfOther: true, waiting: [transfer])
            return false
        }
        // A turn may have been requested for a name that has left since.
        if requestedTurns <= lineCount {
            if limit.begin(self) {
                transfer.lookup = .leading
                transfer.connection.hasClaimedName = true
                return true
            }
            requestedTurns += 1
        }
        transfer.lookup = .waiting
        lookups[name] = Lookup(waiting: [transfer])
        line.append(name)
        lineCount += 1
        return false
    }

    /// Records that the name of a leader is being looked up.
    func isStillLeading(_ transfer: Transfer) {
        guard let name = name(transfer) else { return }
        transfer.reportLookup()
        guard let lookup = lookups[name] else {
            lookups[name] = Lookup(leader: transfer)
            if !transfer.connection.hasClaimedName,
                case .leads = limit.shared.claim(name, for: self, age: knownAge, now: MonotonicClock.now())
            {
                transfer.connection.hasClaimedName = true
            }
            return
        }
        guard lookup.leader == nil, !lookup.isOfOther else { return }
        lookups[name]?.leader = transfer
        transfer.connection.hasClaimedName = true
        lineCount -= 1
    }

    // MARK: Turns

    func grantTurn() { executor.submit { self.turnWasGranted() } }

    private func turnWasGranted() {
        requestedTurns -= 1
        // Without a name that waits, another engine gets the turn.
        if grantedTurns < lineCount { grantedTurns += 1 } else { limit.end() }
    }

    /// Returns the transfers whose turn has come, as leaders.
    func takeTurns() -> [Transfer] {
        var leaders: [Transfer] = []
        while grantedTurns > 0 {
            grantedTurns -= 1
            if let leader = nextLeader() { leaders.append(leader) } else { limit.end() }
        }
        return leaders
    }

    private func nextLeader() -> Transfer? {
        while let name = line.popFirst() {
            guard let lookup = lookups[name], lookup.leader == nil, !lookup.isOfOther,
                let leader = lookup.waiting.first(where: { $0.lookup == .waiting })
            else { continue }
            lineCount -= 1
            leader.lookup = .leading
            leader.connection.hasClaimedName = true
            lookups[name] = Lookup(leader: leader, waiting: lookup.waiting.filter { $0.lookup == .waiting })
            return leader
        }
        return nil
    }

    // MARK: Leaving

    /// Gives up the turn of a cancelled leader, unless other transfers wait for its lookup.
    func abandon(_ leader: Transfer) {
        guard let name = name(leader),
            let lookup = lookups[name], lookup.leader === leader, !lookup.isAbandoned, lookup.waitingCount == 0,
            limit.abandon()
        else { return }
        lookups[name]?.isAbandoned = true
    }

    private func endTurn(_ lookup: Lookup?, of leader: Transfer) {
        if let lookup, lookup.leader === leader, lookup.isAbandoned { limit.endAbandoned() } else { limit.end() }
    }

    /// Records that a leader needs no lookup any more: the addresses are known, a connection is idle, or the transfer has ended.
    /// Returns the transfers that waited for this, which enter the gate again.
    ///
    /// - Parameters:
    ///   - isResolved: Whether the addresses are known.
    ///   - failure: The failure of the lookup, which the transfers that wait share; `nil` if the lookup has not failed.
    func didEnd(
        _ transfer: Transfer, isResolved: Bool, failure: EngineFailure? = nil, now: EngineInstant
    ) -> [Transfer] {
        guard transfer.lookup == .leading else { return [] }
        let hadClaim = transfer.connection.hasClaimedName
        transfer.lookup = .none
        transfer.connection.hasClaimedName = false
        let name = name(transfer)
        endTurn(name.flatMap { lookups[$0] }, of: transfer)
        guard let name else { return [] }
        if isResolved {
            limit.shared.note(name, now)
            last = ("", EngineInstant(nanoseconds: 0))
        }
        if hadClaim {
            let end: SharedLookups.End =
                if let failure { .failed(failure) } else if isResolved { .resolved } else { .unknown }
            limit.shared.end(name, for: self, end)
        }
        guard !lookups.isEmpty, let lookup = lookups[name], lookup.leader === transfer else { return [] }
        lookups[name] = nil
        let waiting = lookup.waiting.filter { $0.lookup == .waiting }
        for transfer in waiting { transfer.lookup = .none }
        return waiting
    }

    /// Whether transfers may wait.
    var hasWaiting: Bool { !lookups.isEmpty }

    /// Removes and returns a transfer that waits for a lookup and can use the connection of another one; `nil` if none waits.
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
        if let leader = lookups[name]?.leader, leader.isCancelled { abandon(leader) }
        guard let lookup = lookups[name], lookup.leader == nil, lookup.waitingCount == 0 else { return }
        lookups[name] = nil
        guard !lookup.isOfOther else { return }
        limit.shared.end(name, for: self, .unknown)
        lineCount -= 1
        if line.count > 2 * lineCount + 64 {
            var seen: Set<String> = []
            line.removeAll {
                lookups[$0].map { $0.leader != nil || $0.isOfOther } ?? true || !seen.insert($0).inserted
            }
        }
    }

    /// Ends all lookups because the engine ends. Returns the transfers that waited.
    func close() -> [Transfer] {
        var waiting: [Transfer] = []
        for (name, lookup) in lookups {
            waiting += lookup.waiting.filter { $0.lookup == .waiting }
            limit.shared.end(name, for: self, .unknown)
            guard let leader = lookup.leader, leader.lookup == .leading else { continue }
            leader.lookup = .none
            leader.connection.hasClaimedName = false
            endTurn(lookup, of: leader)
        }
        for transfer in waiting { transfer.lookup = .none }
        for _ in 0..<grantedTurns { limit.end() }
        grantedTurns = 0
        lookups = [:]
        line = FIFO()
        lineCount = 0
        last = ("", EngineInstant(nanoseconds: 0))
        return waiting
    }

    // MARK: Errors

    /// Returns the reason why a transfer is not connected yet, for errors; `nil` if no lookup is the reason.
    func reason(for transfer: Transfer) -> String? {
        let host = transfer.options.route.proxy.map { ($0.first ?? $0).name } ?? transfer.options.url.host
        switch transfer.lookup {
        case .none: return nil
        case .leading: return "the name \(host) is being looked up"
        case .waiting:
            guard let lookup = name(transfer).flatMap({ lookups[$0] }), lookup.leader == nil, !lookup.isOfOther else {
                return "the name \(host) is being looked up for another request"
            }
            return "the lookup of the name \(host) waits, because \(limit.maximum) others are running"
        }
    }
}
