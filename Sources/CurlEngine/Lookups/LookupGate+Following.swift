/// The lookups of other engines for which transfers wait.
extension LookupGate {
    func lookupDidEnd(_ name: String, _ end: SharedLookups.End) {
        executor.submit { self.otherLookupDidEnd(name, end) }
    }

    /// Ends the wait for a lookup of another engine. Unless the lookup has failed, the transfers enter the gate again: they pass, or one of
    /// them leads.
    private func otherLookupDidEnd(_ name: String, _ end: SharedLookups.End) {
        // The transfers may have left.
        guard let lookup = lookups[name], lookup.isOfOther else { return }
        lookups[name] = nil
        let waiting = lookup.waiting.filter { $0.lookup == .waiting }
        for transfer in waiting { transfer.lookup = .none }
        guard let engine = waiting.first?.engine else { return }
        guard case .failed(let failure) = end else { return engine.enqueue(waiting) }
        for transfer in waiting { engine.fail(transfer, failure) }
    }
}
