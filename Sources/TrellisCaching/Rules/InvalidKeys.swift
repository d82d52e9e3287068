import CurlEngine
private import Synchronization
import TrellisCore

/// The keys of a cache whose stored responses are no longer valid, although the storage could not remove them. They are not used.
final class InvalidKeys: Sendable {
    /// The largest number of keys. If there are more, no stored response of the cache is used until
    /// ``HTTPCache/removeAll()`` has removed all.
    static let maximumCount = 1000

    private struct State {
        /// The keys, with the numbers of their last marks.
        var keys: [CacheKey: UInt64] = [:]
        /// The number of the last mark of all keys; `nil` if not all of them are marked.
        var all: UInt64?
        /// The number of the last mark.
        var last: UInt64 = 0

        /// Marks all keys.
        mutating func markAll() {
            last += 1
            (keys, all) = ([:], last)
        }
    }

    private let state = Locked(State())
    /// Whether there is no such key, as nearly always: a request then takes no lock.
    private let areNone = Atomic(true)

    /// Whether no stored response may be used.
    var areAll: Bool { state.withLock { $0.all != nil } }

    /// The number of the last mark. A removal that begins now, and succeeds, removes the marks up to this one: a later mark is about
    /// responses that were stored after the removal.
    var lastMark: UInt64 { state.withLock { $0.last } }

    /// Returns whether the stored responses of a key must not be used.
    func contains(_ key: CacheKey) -> Bool {
        if areNone.load(ordering: .relaxed) { return false }
        return state.withLock { $0.all != nil || $0.keys[key] != nil }
    }

    /// Marks a key, whose stored responses could not be removed.
    func insert(_ key: CacheKey) {
        change { state in
            state.last += 1
            state.keys[key] = state.last
            if state.keys.count > Self.maximumCount { state.markAll() }
        }
    }

    /// Marks all keys.
    func insertAll() { change { $0.markAll() } }

    /// Removes the mark of a key, whose stored responses have been removed, unless it was made after another one.
    func remove(_ key: CacheKey, upTo mark: UInt64) {
        if areNone.load(ordering: .relaxed) { return }
        change { state in
            if let own = state.keys[key], own <= mark { state.keys[key] = nil }
        }
    }

    /// Removes the marks of all keys, except those made after another one.
    func removeAll(upTo mark: UInt64) {
        if areNone.load(ordering: .relaxed) { return }
        change { state in
            state.keys = state.keys.filter { $0.value > mark }
            if let all = state.all, all <= mark { state.all = nil }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            areNone.store(state.all == nil && state.keys.isEmpty, ordering: .relaxed)
        }
    }
}
