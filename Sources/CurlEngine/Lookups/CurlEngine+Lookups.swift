import CCurl

/// The waits of transfers for lookups of host names.
extension CurlEngine {
    /// Returns whether libcurl has a connection with room for a transfer, so that libcurl looks up no name.
    func hasConnection(_ multi: MultiHandle, for transfer: Transfer) -> Bool {
        if transfer.isOnWire { return wire.hasIdle(transfer.options.wirePool) }
        return unsafe multi.sockets.hasUnused(to: transfer.options.pool) || streams.hasRoom(for: transfer)
    }

    /// Starts a transfer that waits to look up the name of an origin, if a connection to the origin has room after the end of another one.
    func endWaitForLookup(_ multi: MultiHandle, after transfer: Transfer) {
        guard hasConnection(multi, for: transfer),
            let next = lookups.takeWaiting(forConnectionOf: transfer)
        else { return }
        enqueue([next])
    }

    /// Records that libcurl opens a socket for a leader, to one of the addresses of its host.
    ///
    /// From 8.20 on, libcurl looks up the addresses of both kinds apart, and connects as soon as it has one kind. Until it has
    /// both, its cache does not have the name, so that another transfer would look up the name again.
    func leaderOpensSocket(_ transfer: Transfer) {
        if transfer.hasCompleteLookup {
            lookupDidEnd(transfer, isResolved: true)
        } else {
            lookups.isConnecting(transfer)
        }
    }

    /// Ends the lookups that have become complete while their leaders connect.
    func endCompleteLookups() {
        for transfer in lookups.takeComplete() { lookupDidEnd(transfer, isResolved: true) }
    }

    /// Records that libcurl has the addresses of a leader's host, or uses an existing connection for the leader.
    func lookupDidEnd(_ transfer: Transfer, isResolved: Bool) {
        enqueue(lookups.didEnd(transfer, isResolved: isResolved, now: MonotonicClock.now()))
        // A cancelled transfer has stayed in libcurl only for its lookup.
        if transfer.isCancelled { update(transfer) }
    }

    /// Ends the wait of a transfer that ends itself. The transfers that wait for the same lookup share its failure, on other
    /// engines too.
    func endLookup(_ transfer: Transfer, code: CURLcode = CURLE_OK, failure: EngineFailure? = nil) {
        guard transfer.lookup == .leading else { return lookups.leave(transfer) }
        let isResolved = transfer.connection.hasOpenedSocket && transfer.hasCompleteLookup
        let isUnresolved = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY
        // The failure of a request that was sent before is not the lookup's alone.
        let failure = isUnresolved && transfer.attempts == 0 ? failure : nil
        let waiting = lookups.didEnd(
            transfer, isResolved: isResolved, failure: failure, now: MonotonicClock.now())
        guard let failure else { return enqueue(waiting) }
        for transfer in waiting where !wire.waitInstead(transfer, after: failure) { fail(transfer, failure) }
    }

    /// Removes a cancelled transfer from the gates in which it waits.
    func leaveGates(_ transfer: Transfer) {
        // The timer is not set while a transfer is in libcurl, from where this one may have come to its gate.
        if idleTimer == nil { setIdleTimer() }
        if transfer.lookup != .none { endLookup(transfer) }
        if transfer.place.use != .none { streams.didEnd(transfer) }
    }

    /// Returns the reason why a transfer is not connected yet; `nil` if no gate is the reason.
    func reasonForWaiting(_ transfer: Transfer) -> String? {
        lookups.reason(for: transfer) ?? streams.reason(for: transfer) ?? wire.reasonForWaiting(transfer)
    }
}
