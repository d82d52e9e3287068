import CurlEngine
import TrellisCore

/// The turns of equal requests of several processes, which share a storage.
extension CacheTransaction {
    /// The pauses between two looks at the turn of another process.
    private static let pauses = (shortest: Duration.milliseconds(10), longest: Duration.milliseconds(160))

    /// Waits while another process asks the origin. Returns whether it has, so that its response may be stored now; `false` if this request
    /// is to be sent.
    ///
    /// - Parameters:
    ///   - entries: The stored responses that this request has found.
    ///   - rest: The longest time for the wait, from which the time that has passed is taken off.
    func hasWaitedForTurn(
        _ leader: CacheTicket, variant: String?, knowing entries: [CacheEntry], _ rest: inout Duration
    ) async throws -> Bool {
        guard let shared = cache.shared else { return false }
        if await cache.hasTurn(leader, variant: variant, for: self) {
            return await haveChanged(entries, of: leader.key)
        }
        try Task.checkCancellation()
        try pipeline.requireTask(for: asked)
        let (context, key) = (pipeline.context, leader.key)
        var pause = Self.pauses.shortest
        while rest > .zero {
            let start = context.now
            try await context.pause(for: min(pause, rest))
            let isTaken = try? await waiting { try await shared.isTurnTaken(for: key, variant: variant) }
            rest -= .nanoseconds(context.now.nanoseconds(since: start))
            // A storage that does not answer is not waited for.
            guard let isTaken else { return false }
            if !isTaken { return true }
            pause = min(pause * 2, Self.pauses.longest)
        }
        return false
    }
}

extension CacheTransaction {
    /// Returns whether other responses are stored now. Another process may have given its turn back after this request had searched, and
    /// before it asked for the turn.
    private func haveChanged(_ entries: [CacheEntry], of key: CacheKey) async -> Bool {
        let present = await storedEntries(key)
        return present.count != entries.count || !zip(present, entries).allSatisfy { $0.isUnchanged(from: $1) }
    }
}

extension CacheEntry {
    /// Whether the entry is the same as when it was read, and was not validated since.
    fileprivate func isUnchanged(from known: CacheEntry) -> Bool {
        id.hasSameBytes(as: known.id) && head.stored.responseTime == known.head.stored.responseTime
    }
}

extension HTTPCache {
    /// Returns whether an entry is stored as it was when it was read, as far as the storage says.
    func stillHas(_ entry: CacheEntry, for key: CacheKey) async -> Bool {
        let present = try? await StorageVisit.$current.withValue(StorageVisit()) { [storage] in
            try await storage.entries(for: key)
        }
        return present?.contains { $0.isUnchanged(from: entry) } ?? true
    }

    /// Asks for the turn of an exchange, which then ends with the exchange. Returns `false` if another process has the turn; `true` if this
    /// one has it, or the storage does not say.
    ///
    /// - Parameter transaction: The request that waits; `nil` if none does.
    func hasTurn(
        _ leader: CacheTicket, variant: String?, for transaction: CacheTransaction? = nil
    ) async -> Bool {
        guard let shared else { return true }
        let key = leader.key
        let ask: @Sendable () async throws -> SharedTurn = { try await shared.turn(for: key, variant: variant) }
        let turn =
            if let transaction {
                try? await transaction.waiting(for: ask) { if case .ours(let giveBack) = $0 { giveBack() } }
            } else {
                try? await StorageVisit.$current.withValue(StorageVisit()) { try await ask() }
            }
        switch turn {
        case .ours(let giveBack):
            // The exchange leads, so that this one would wait for it.
            if case .waiter(let flight) = exchanges.join(key, variant: variant) {
                flight.hold(giveBack)
            } else {
                giveBack()
            }
            return true
        case .others: return false
        case nil: return true
        }
    }
}
