import CurlEngine
private import Synchronization

/// The keys of a cache whose stored responses are no longer valid, although the storage could not remove them. They are not used.
final class InvalidKeys: Sendable {
    /// The largest number of keys. If there are more, no stored response of the cache is used until
    /// ``HTTPCache/removeAll()`` has removed all.
    static let maximumCount = 1000

    private struct State {
        var keys: Set<CacheKey> = []
        var areAll = false
    }

    private let state = Locked(State())
    /// Indicates whether there is no such key, as nearly always: a request then takes no lock.
    private let areNone = Atomic(true)

    /// Indicates whether no stored response may be used.
    var areAll: Bool { state.withLock { $0.areAll } }

    /// Returns whether the stored responses of a key must not be used.
    func contains(_ key: CacheKey) -> Bool {
        if areNone.load(ordering: .relaxed) { return false }
        return state.withLock { $0.areAll || $0.keys.contains(key) }
    }

    /// Adds a key.
    func insert(_ key: CacheKey) {
        change { state in
            state.keys.insert(key)
            if state.keys.count > Self.maximumCount { state = State(areAll: true) }
        }
    }

    /// Adds all keys.
    func insertAll() { change { $0 = State(areAll: true) } }

    /// Removes a key, whose stored responses have been removed.
    func remove(_ key: CacheKey) {
        if areNone.load(ordering: .relaxed) { return }
        change { $0.keys.remove(key) }
    }

    /// Removes all keys.
    func removeAll() {
        if areNone.load(ordering: .relaxed) { return }
        change { $0 = State() }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            areNone.store(!state.areAll && state.keys.isEmpty, ordering: .relaxed)
        }
    }
}
