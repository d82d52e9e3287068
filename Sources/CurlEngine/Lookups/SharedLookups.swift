/// The part of the lookups of host names that all engines of a session share: the addresses, and the names that are being looked up.
///
/// One gate at a time leads the lookup of a name: it claims the name, and ends its claim when the lookup has ended. Until then, the gates
/// of other engines that claim the name follow it, and are notified of the end.
final class SharedLookups: Sendable {
    /// The result of a claim.
    enum Claim {
        /// The addresses are known, which were looked up at an instant of the system's clock.
        case known(EngineInstant)
        /// The gate leads the lookup, and must end its claim.
        case leads
        /// Another gate leads. The gate is notified of the end of the lookup.
        case follows
    }

    /// The end of a claim.
    enum End: Sendable {
        /// The addresses are known.
        case resolved
        /// The system has no addresses.
        case failed(EngineFailure)
        /// The name was not looked up, or the lookup was given up.
        case unknown
    }

    /// The age from which the result of a lookup is forgotten.
    static let forgottenAge: Duration = .seconds(64)

    private struct Flight {
        let leader: any LookupFollower
        var followers: [any LookupFollower] = []
    }

    /// A host with the versions of IP that were looked up.
    private struct Host: Hashable {
        let name: String
        let family: TransferRoute.Family
    }

    private struct State {
        /// The names that are being looked up, or wait for that.
        var flights: [String: Flight] = [:]
        /// The instants of the last lookups, on the system's clock.
        var known: [String: EngineInstant] = [:]
        /// The number of entries in `known` at which old entries are removed.
        var knownLimit = 256
        /// The addresses that the system has told.
        var addresses: [Host: (addresses: [IPAddress], at: EngineInstant)] = [:]
        /// The number of entries in `addresses` at which old entries are removed.
        var addressLimit = 256
    }

    private let state = Locked(State())

    // MARK: Names that are known

    /// Returns the instant at which a name was last looked up, on the system's clock; `nil` if it was not, or long ago.
    func lastLookup(of name: String) -> EngineInstant? { state.withLock { $0.known[name] } }

    /// Records that the addresses of a name are known.
    func note(_ name: String, _ now: EngineInstant) {
        state.withLock { state in
            if let instant = state.known[name], now < instant.advanced(by: Self.forgottenAge) { return }
            state.known[name] = now
            guard state.known.count > state.knownLimit else { return }
            state.known = state.known.filter { now < $0.value.advanced(by: Self.forgottenAge) }
            state.knownLimit = max(256, 2 * state.known.count)
        }
    }

    /// Returns the addresses of a host that was looked up a short time ago; `nil` if it was not.
    ///
    /// - Parameter age: The age up to which a lookup counts.
    func addresses(
        of host: String, _ family: TransferRoute.Family, age: Duration, now: EngineInstant
    ) -> [IPAddress]? {
        state.withLock { state in
            guard let found = state.addresses[Host(name: host, family: family)], now < found.at.advanced(by: age)
            else { return nil }
            return found.addresses
        }
    }

    /// Keeps the addresses of a host.
    func setAddresses(
        _ addresses: [IPAddress], of host: String, _ family: TransferRoute.Family, now: EngineInstant
    ) {
        state.withLock { state in
            state.addresses[Host(name: host, family: family)] = (addresses, now)
            guard state.addresses.count > state.addressLimit else { return }
            state.addresses = state.addresses.filter { now < $0.value.at.advanced(by: Self.forgottenAge) }
            // The cost per lookup is constant, however many names there are.
            state.addressLimit = max(256, 2 * state.addresses.count)
        }
    }

    /// The number of hosts whose addresses are kept.
    var addressCount: Int { state.withLock { $0.addresses.count } }

    // MARK: Names that are being looked up

    /// Claims a name for a gate.
    ///
    /// - Parameter age: The age up to which an earlier lookup counts.
    func claim(_ name: String, for gate: any LookupFollower, age: Duration, now: EngineInstant) -> Claim {
        state.withLock { state -> Claim in
            if let instant = state.known[name], now < instant.advanced(by: age) { return .known(instant) }
            guard let flight = state.flights[name], flight.leader !== gate else {
                let followers = state.flights[name]?.followers.filter { $0 !== gate } ?? []
                state.flights[name] = Flight(leader: gate, followers: followers)
                return .leads
            }
            if !flight.followers.contains(where: { $0 === gate }) { state.flights[name]?.followers.append(gate) }
            return .follows
        }
    }

    /// Ends the claim of a gate, and notifies the gates that follow it. Does nothing if the gate does not lead.
    func end(_ name: String, for gate: any LookupFollower, _ end: End) {
        let followers = state.withLock { state -> [any LookupFollower] in
            guard let flight = state.flights[name], flight.leader === gate else { return [] }
            state.flights[name] = nil
            return flight.followers
        }
        for follower in followers { follower.lookupDidEnd(name, end) }
    }
}

/// A gate that waits for a lookup of another engine.
protocol LookupFollower: AnyObject, Sendable {
    /// Notifies the gate of the end of a lookup that it has followed. Called from any thread.
    func lookupDidEnd(_ name: String, _ end: SharedLookups.End)
}
