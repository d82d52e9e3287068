import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Validations in the background belong to their session (RFC 5861, section 3).
@Suite(.timeLimit(.minutes(1)))
struct CacheBackgroundTests {
    private typealias World = CacheWorld

    /// A storage whose commits, from the second one on, wait for a gate.
    private struct Slow: CacheStorage {
        struct Writer: CacheWriter {
            let storage: Slow
            let writer: any CacheWriter

            func write(_ bytes: Data) async throws { try await writer.write(bytes) }
            func commit() async throws {
                let number = storage.commits.withLock { commits in
                    commits += 1
                    return commits
                }
                // The wait is not cancelled with the task, as that for a disk.
                if number > 1 { _ = await Task { [gate = storage.gate] in try? await gate.opened() }.value }
                try await writer.commit()
            }
            func discard() async { await writer.discard() }
        }

        let memory = MemoryCacheStorage()
        let gate = LoopbackServer.Gate()
        let commits = Locked(0)

        func entries(for key: CacheKey) -> [CacheEntry] { memory.entries(for: key) }
        func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
            Writer(storage: self, writer: try memory.makeWriter(for: key, head, length: length))
        }
        func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) {
            memory.update(entry, for: key, to: head)
        }
        func remove(_ entry: CacheEntry, for key: CacheKey) { memory.remove(entry, for: key) }
        func removeEntries(for key: CacheKey) { memory.removeEntries(for: key) }
        func removeAll() { memory.removeAll() }
        var keys: AsyncThrowingStream<CacheKey, any Error> { memory.keys }
        var usage: CacheUsage { memory.usage }
    }

    /// A shutdown that did not wait would let the validation write to the storage of a session that has ended.
    @Test(arguments: [Duration.zero, .seconds(10)])
    func theShutdownWaitsForTheValidation(_ grace: Duration) async throws {
        let storage = Slow()
        let world = World(storage: storage) { _ in
            World.response("one", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        _ = try await world.get()
        world.pass(70)
        #expect(try await world.get()[1] == "trellis; hit; ttl=-10; detail=stale-while-revalidate")
        while storage.commits.withLock({ $0 }) < 2 { await Task.yield() }
        let session = try world.session
        let shutdown = Task { await session.shutdown(drainingFor: grace) }
        while !session.life.isShutDown { await Task.yield() }
        for _ in 0..<1000 where !session.life.hasEnded { await Task.yield() }
        #expect(!session.life.hasEnded && session.validations.count == 1)
        storage.gate.open()
        await shutdown.value
        #expect(session.life.hasEnded && session.validations.count == 0)
        // The response had been received completely: it is stored, with or without a grace.
        #expect(world.cache.statistics.storedCount == 2)
    }

    /// The validation in progress ends with the session, and none begins after that.
    @Test func theShutdownCancelsTheValidation() async throws {
        let count = Locked(0)
        let world = World { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > 1 { try await LoopbackServer.Gate().opened() }
            return World.response("one", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        _ = try await world.get()
        world.pass(70)
        _ = try await world.get()
        try await world.transport.waitUntilRequested(count: 2)
        let session = try world.session
        #expect(session.validations.count == 1)
        await session.shutdown()
        #expect(session.validations.count == 0 && world.cache.exchanges.leaderCount == 0)
        #expect(world.cache.statistics.storedCount == 1)
    }
}
