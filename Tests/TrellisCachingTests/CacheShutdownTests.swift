import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A storage that takes longer for the validation in the background (RFC 5861, section 3) than the end of the session waits.
@Suite(.timeLimit(.minutes(3)))
struct CacheShutdownTests {
    private typealias World = CacheWorld

    /// A test clock that counts the waits with a limit, which look at it each time that it is moved.
    private final class WatchedClock: SessionClock {
        private final class Side: EngineClock {
            private let base: any EngineClock
            let waits = Locked(0)

            init(_ base: any EngineClock) { self.base = base }

            func now() -> EngineInstant { base.now() }
            func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
                base.sleep(until: deadline, from: now)
            }
            func onAdvance(_ wake: @escaping @Sendable () -> Void) {
                base.onAdvance(wake)
                waits.withLock { $0 += 1 }
            }
        }

        private let base = TestClock()
        private let side: Side

        init() { side = Side(base.engineSide) }

        var engineSide: any EngineClock { side }
        var now: TestClock.Instant { base.now }
        var minimumResolution: Duration { base.minimumResolution }
        var waitCount: Int { side.waits.withLock { $0 } }

        func move(by duration: Duration) { base.move(by: duration) }
        func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
            try await base.sleep(until: deadline, tolerance: tolerance)
        }
    }

    @Test(arguments: [false, true]) func nothingIsStoredAfterTheEndOfTheSession(_ isConfirmed: Bool) async throws {
        let (storage, clock, requests) = (GatedStorage(), WatchedClock(), Locked(0))
        let world = World(storage: storage, clock: clock) { _ in
            var fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=30", .server: "first"]
            if isConfirmed { fields[.eTag] = "\"1\"" }
            guard requests.next() > 1 else { return World.response("one", fields) }
            fields[.server] = "second"
            return isConfirmed ? World.response("", status: 304, fields) : World.response("two", fields)
        }
        _ = try await world.get()
        world.pass(70)
        // The validation waits for its storage, for no longer than five seconds, and the session for the validation.
        var waitCount = clock.waitCount + 1
        #expect(try await world.get()[1] == "trellis; hit; ttl=-10; detail=stale-while-revalidate")
        try await storage.isReached.opened()
        let session = try world.session
        let shutdown = Task { await session.shutdown() }
        while !session.life.isShutDown, !Task.isCancelled { await Task.yield() }
        for _ in 0..<1000 where !session.life.hasEnded { await Task.yield() }
        #expect(!session.life.hasEnded)
        // The limit of the session begins when its engines have ended.
        while !session.life.hasEnded, !Task.isCancelled {
            if clock.waitCount > waitCount {
                waitCount = clock.waitCount
                clock.move(by: .seconds(2))
            }
            await Task.yield()
        }
        await shutdown.value
        #expect(session.validations.count == 1)
        storage.gate.open()
        while session.validations.count > 0, !Task.isCancelled { await Task.yield() }
        let entries = storage.memory.entries(for: CacheKey(url: World.url))
        #expect(entries.allSatisfy { $0.head.headers[.server] == "first" })
        #expect(world.cache.statistics.storedCount == 1)
    }

    /// An equal request of another session does not wait for a validation that its own session has not waited for.
    @Test func theEndOfTheSessionEndsTheWaitForItsValidation() async throws {
        let (storage, clock) = (GatedStorage(), TestClock())
        let world = World(storage: storage, clock: clock) { _ in
            World.response("one", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        _ = try await world.get()
        world.pass(70)
        _ = try await world.get()
        try await storage.isReached.opened()
        #expect(world.cache.exchanges.leaderCount == 1)
        let session = try world.session
        let shutdown = Task { await session.shutdown() }
        while !session.life.hasEnded, !Task.isCancelled {
            clock.move(by: .seconds(1))
            await Task.yield()
        }
        await shutdown.value
        #expect(world.cache.exchanges.leaderCount == 0)
        storage.gate.open()
        while session.validations.count > 0, !Task.isCancelled { await Task.yield() }
    }
}
