import CurlEngine
import TrellisCore

/// The turns of equal requests of several processes, which share a storage.
extension CacheTransaction {
    /// The pauses between two looks at the turn of another process.
    private static let pauses = (shortest: Duration.milliseconds(10), longest: Duration.milliseconds(160))

    /// Waits while another process asks the origin. Returns whether it has, so that its response may be stored now; `false` if this request
    /// is to be sent.
    ///
    /// - Parameter rest: The longest time for the wait, from which the time that has passed is taken off.
    func hasWaitedForTurn(_ leader: CacheTicket, variant: String?, _ rest: inout Duration) async throws -> Bool {
        guard let shared = cache.shared, await !cache.hasTurn(leader, variant: variant, for: self) else { return false }
        try Task.checkCancellation()
        try pipeline.requireTask(for: asked)
        let (context, key) = (pipeline.context, leader.key)
        var pause = Self.pauses.shortest
        while rest > .zero {
            let start = context.now
            let isTaken = try? await waiting { try await shared.isTurnTaken(for: key, variant: variant) }
            // A storage that does not answer is not waited for.
            guard let isTaken else { return false }
            if !isTaken { return true }
            try await context.pause(for: min(pause, rest))
            rest -= .nanoseconds(context.now.nanoseconds(since: start))
            pause = min(pause * 2, Self.pauses.longest)
        }
        return false
    }
}

extension HTTPCache {
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
