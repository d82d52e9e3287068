import CurlEngine

/// The addresses that a resolver has returned, for their time to live, and the lookups under way.
///
/// Requests that need a name at the same time, and in the same network, share one lookup. Failures are shared, and not kept.
final class ResolverCache: Sendable {
    /// The number of names that are kept.
    static let limit = 1024

    private struct Key: Hashable {
        let name: TextBytes
        let family: AddressFamily
        /// The number of changes of the network before the request.
        let changes: Int
    }

    private struct Known {
        let addresses: [IPAddress]
        let end: EngineInstant
    }

    private struct State {
        var known: [Key: Known] = [:]
        /// The number of changes of the network. Addresses and lookups with lower numbers belong to another one.
        var changes = 0

        /// Returns the key of a name in the present network.
        func key(_ name: String, _ family: AddressFamily) -> Key {
            Key(name: TextBytes(name), family: family, changes: changes)
        }
    }

    private let resolver: any NameResolver
    /// The names that the system looks up instead.
    let localNames: LocalNames
    private let state = Locked(State())
    private let lookups = SharedWork<Key, [IPAddress]>()

    init(_ resolver: any NameResolver) { (self.resolver, localNames) = (resolver, resolver.localNames) }

    /// Returns a cache for the same resolver that knows no addresses yet.
    func emptyCopy() -> ResolverCache { ResolverCache(resolver) }

    /// The number of names whose addresses are kept.
    var count: Int { state.withLock { $0.known.count } }

    /// The number of waiters for lookups.
    var waitingCount: Int { lookups.waitingCount }

    /// Returns the addresses of a name if they are known.
    func knownAddresses(of name: String, _ family: AddressFamily, now: EngineInstant) -> [IPAddress]? {
        let known = state.withLock { $0.known[$0.key(name, family)] }
        return known.flatMap { now < $0.end ? $0.addresses : nil }
    }

    /// Returns the addresses of a name, which are known, or are looked up now.
    ///
    /// - Throws: The error of the resolver; `CancellationError` in a cancelled task.
    func addresses(of name: String, _ family: AddressFamily, clock: any EngineClock) async throws -> [IPAddress] {
        if let known = knownAddresses(of: name, family, now: clock.now()) { return known }
        let key = state.withLock { $0.key(name, family) }
        return try await lookups.value(for: key) { [self] in
            let found = try await find(name, family)
            // A lookup that all requests have left, or of another network, decides nothing.
            if !Task.isCancelled { keep(found, for: key, now: clock.now()) }
            return found.literals
        }
    }

    private func find(_ name: String, _ family: AddressFamily) async throws -> ResolvedAddresses {
        // Where addresses are wanted that the engine does not look up: for a SOCKS proxy, or for a name of a file.
        if let local = try await localNames.addresses(of: name, family: family) { return local }
        return try await resolver.addresses(of: name, family: family)
    }

    private func keep(_ found: ResolvedAddresses, for key: Key, now: EngineInstant) {
        guard found.timeToLive > .zero, !found.literals.isEmpty else { return }
        state.withLock { state in
            guard key.changes == state.changes else { return }
            Self.makeRoom(in: &state, now)
            let end = now.advanced(byNanoseconds: found.timeToLive.clampedNanoseconds)
            state.known[key] = Known(addresses: found.literals, end: end)
        }
    }

    /// Forgets the addresses, which may be unknown in another network, or belong to other servers there. The lookups under way serve only
    /// the requests that were made before, because they may never end: the servers that they ask may be unreachable now.
    func networkDidChange() {
        state.withLock { state in
            state.known = [:]
            state.changes += 1
        }
    }

    /// Removes the entries that have expired, or else the one that expires first, if the cache is full.
    private static func makeRoom(in state: inout State, _ now: EngineInstant) {
        guard state.known.count >= limit else { return }
        state.known = state.known.filter { now < $0.value.end }
        guard state.known.count >= limit, let first = state.known.min(by: { $0.value.end < $1.value.end }) else {
            return
        }
        state.known[first.key] = nil
    }
}
