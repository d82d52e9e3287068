import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The keys of responses that could not be removed, while other removals of the same keys are under way.
@Suite(.timeLimit(.minutes(3)))
struct InvalidKeysTests {
    /// A storage whose first removal waits for a gate after it has removed the entries, and whose second one fails.
    private struct LateStorage: MemoryBackedStorage {
        struct Failure: Error {}

        let memory = MemoryCacheStorage()
        let hasRemoved = LoopbackServer.Gate()
        let gate = LoopbackServer.Gate()
        private let count = Locked(0)

        func removeEntries(for key: CacheKey) async throws {
            let number = count.next()
            if number == 2 { throw Failure() }
            memory.removeEntries(for: key)
            guard number == 1 else { return }
            hasRemoved.open()
            try await gate.opened()
        }
    }

    private let key = CacheKey(url: CacheWorld.url)

    /// The failed removal is about responses that were stored after the successful one has removed the others.
    @Test func aRemovalDoesNotUndoALaterMark() async throws {
        let (storage, key) = (LateStorage(), key)
        let cache = HTTPCache(storage: storage)
        let first = Task { await cache.removeInvalid(key) }
        try await storage.hasRemoved.opened()
        #expect(await cache.removeInvalid(key) != nil)
        storage.gate.open()
        #expect(await first.value == nil)
        #expect(cache.invalidKeys.contains(key))
        // The next request tries the removal again.
        #expect(await cache.mayUse(key))
        #expect(!cache.invalidKeys.contains(key))
    }

    @Test func onlyTheMarksThatAreKnownAreRemoved() {
        let (keys, other) = (InvalidKeys(), CacheKey(url: "http://localhost/b"))
        keys.insert(key)
        let mark = keys.lastMark
        keys.insert(other)
        keys.remove(other, upTo: mark)
        #expect(keys.contains(key) && keys.contains(other))
        keys.removeAll(upTo: mark)
        #expect(!keys.contains(key) && keys.contains(other))
        // The same key is marked again.
        keys.insert(key)
        keys.remove(key, upTo: mark)
        #expect(keys.contains(key))
        let last = keys.lastMark
        keys.insertAll()
        keys.removeAll(upTo: last)
        #expect(keys.areAll && keys.contains(CacheKey(url: "x")))
        keys.removeAll(upTo: keys.lastMark)
        #expect(!keys.areAll && !keys.contains(key) && !keys.contains(other))
    }
}
