import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A storage that takes longer for a response than the response waits for it.
@Suite(.timeLimit(.minutes(3)))
struct LateStorageTests {
    /// A storage whose commits, or whose writers, wait for a gate. The commits fail after it.
    private struct LateStorage: MemoryBackedStorage {
        struct Full: Error {}

        struct Writer: CacheWriter {
            let storage: LateStorage

            func write(_ bytes: Data) {}

            func commit() async throws {
                storage.isReached.open()
                try await storage.gate.opened()
                throw Full()
            }

            func discard() { storage.isDiscarded.open() }
        }

        /// Whether the writers wait for the gate, which no cancellation opens.
        var opensLate = false
        let memory = MemoryCacheStorage()
        let isReached = LoopbackServer.Gate()
        let gate = LoopbackServer.Gate()
        let isDiscarded = LoopbackServer.Gate()

        func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) async -> any CacheWriter {
            if opensLate {
                isReached.open()
                await Task { [gate] in try? await gate.opened() }.value
            }
            return Writer(storage: self)
        }
    }

    /// The status says that the storage has not stored the response, and a failure of the storage after that is not a second one.
    @Test func aLateStorageIsOneFailure() async throws {
        let (storage, clock) = (LateStorage(), TestClock())
        let world = CacheWorld(storage: storage, clock: clock) { _ in CacheWorld.response("one") }
        let request = Request(CacheWorld.url).withTimeouts(Timeouts(idle: nil, total: nil))
        let stream = try await world.session.stream(request)
        let hasEnded = Locked(false)
        let ending = Task {
            defer { hasEnded.withLock { $0 = true } }
            return try await stream.finalResponse()
        }
        try await storage.isReached.opened()
        // The wait for the storage may begin after a move.
        while !hasEnded.withLock({ $0 }), !Task.isCancelled {
            clock.move(by: .seconds(5))
            await Task.yield()
        }
        let status = try #require(try await ending.value.cacheStatus)
        #expect(!status.isStored && status.detail == "storage")
        #expect(world.cache.statistics.failureCount == 1)
        storage.gate.open()
        try await storage.isDiscarded.opened()
        #expect(world.cache.statistics.failureCount == 1)
    }

    /// A response that does not wait any longer leaves a writer behind, which the storage makes afterwards.
    @Test func aWriterThatComesTooLateIsDiscarded() async throws {
        let (storage, clock) = (LateStorage(opensLate: true), TestClock())
        let world = CacheWorld(storage: storage, clock: clock) { _ in CacheWorld.response("one") }
        let request = Request(CacheWorld.url).withTimeouts(Timeouts(idle: nil, total: nil))
        let hasEnded = Locked(false)
        let call = Task {
            defer { hasEnded.withLock { $0 = true } }
            return try await world.session.data(request).1.cacheStatus
        }
        try await storage.isReached.opened()
        // The wait for the storage may begin after a move.
        while !hasEnded.withLock({ $0 }), !Task.isCancelled {
            clock.move(by: .seconds(5))
            await Task.yield()
        }
        let status = try #require(try await call.value)
        #expect(!status.isStored && status.detail == "storage")
        #expect(!storage.isDiscarded.isOpen)
        storage.gate.open()
        try await storage.isDiscarded.opened()
        #expect(world.cache.statistics.failureCount == 1)
        #expect(try await world.storedCount == 0)
    }
}
