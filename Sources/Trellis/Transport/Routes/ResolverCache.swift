import CurlEngine

/// The addresses that a resolver has returned, for their time to live, and the lookups under way.
///
/// Requests that need a name at the same time, and in the same network, share one lookup. It runs in a task that no request's cancellation
/// reaches, until the last of them has left. Failures are shared, and not kept.
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

    /// A lookup under way, with its waiters by ticket.
    private struct Lookup {
        let number: UInt64
        var task: Task<Void, Never>?
        var waiters: [UInt64: Reply<[IPAddress]>] = [:]
    }

    private struct State {
        var known: [Key: Known] = [:]
        var lookups: [Key: Lookup] = [:]
        /// The number of the last ticket or lookup.
        var lastNumber: UInt64 = 0
        /// The number of changes of the network. Addresses and lookups with lower numbers are those of another one.
        var changes = 0

        /// Returns the key of a name in the present network.
        func key(_ name: String, _ family: AddressFamily) -> Key {
            Key(name: TextBytes(name), family: family, changes: changes)
        }

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    private let resolver: any NameResolver
    private let state = Locked(State())

    init(_ resolver: any NameResolver) { self.resolver = resolver }

    /// Returns a cache for the same resolver that knows no addresses yet.
    func emptyCopy() -> ResolverCache { ResolverCache(resolver) }

    /// The number of names whose addresses are kept.
    var count: Int { state.withLock { $0.known.count } }

    /// The number of waiters for lookups.
    var waitingCount: Int { state.withLock { $0.lookups.values.reduce(0) { $0 + $1.waiters.count } } }

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
        let (key, ticket) = state.withLock { ($0.key(name, family), $0.nextNumber()) }
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                join(key, ticket, reply, clock)
                // The task may have been cancelled before there was a waiter to remove.
                if Task.isCancelled { leave(key, ticket) }
            }
        } onCancel: {
            leave(key, ticket)
        }
    }

    /// Adds a waiter to the lookup of its name, and begins the lookup if it is new.
    private func join(_ key: Key, _ ticket: UInt64, _ reply: Reply<[IPAddress]>, _ clock: any EngineClock) {
        let number = state.withLock { state -> UInt64? in
            let isNew = state.lookups[key] == nil
            let number = isNew ? state.nextNumber() : 0
            state.lookups[key, default: Lookup(number: number)].waiters[ticket] = reply
            return isNew ? number : nil
        }
        guard let number else { return }
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<ResolvedAddresses, any Error>
            do {
                result = .success(try await resolver.addresses(of: key.name.text, family: key.family))
            } catch {
                result = .failure(error)
            }
            end(key, number, result, now: clock.now())
        }
        let isWanted = state.withLock { state in
            guard state.lookups[key]?.number == number else { return false }
            state.lookups[key]?.task = task
            return true
        }
        // All waiters have left already, or the lookup has ended.
        if !isWanted { task.cancel() }
    }

    /// Removes a waiter whose task was cancelled. The lookup ends with its last waiter.
    private func leave(_ key: Key, _ ticket: UInt64) {
        let (reply, task) = state.withLock { state -> (Reply<[IPAddress]>?, Task<Void, Never>?) in
            guard let reply = state.lookups[key]?.waiters.removeValue(forKey: ticket) else { return (nil, nil) }
            guard state.lookups[key]?.waiters.isEmpty == true else { return (reply, nil) }
            return (reply, state.lookups.removeValue(forKey: key)?.task)
        }
        task?.cancelOffEngine()
        reply?.resume(with: .failure(CancellationError()))
    }

    /// Stores the result of a lookup, and resumes its waiters.
    private func end(
        _ key: Key, _ number: UInt64, _ result: Result<ResolvedAddresses, any Error>, now: EngineInstant
    ) {
        let waiters = state.withLock { state -> [Reply<[IPAddress]>] in
            // A lookup without waiters has ended, and another one may be under way.
            guard state.lookups[key]?.number == number, let lookup = state.lookups.removeValue(forKey: key) else {
                return []
            }
            if key.changes == state.changes, case .success(let found) = result, found.timeToLive > .zero,
                !found.literals.isEmpty
            {
                Self.makeRoom(in: &state, now)
                let end = now.advanced(byNanoseconds: found.timeToLive.clampedNanoseconds)
                state.known[key] = Known(addresses: found.literals, end: end)
            }
            return Array(lookup.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result.map(\.literals)) }
    }

    /// Forgets the addresses, which may be unknown or those of other servers in another network. The lookups under way serve only the
    /// requests that were made before, because they may never end: the servers that they ask may be unreachable now.
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
