import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Validations in the background belong to their session (RFC 5861, section 3).
@Suite(.timeLimit(.minutes(3)))
struct CacheBackgroundTests {
    private typealias World = CacheWorld

    /// A shutdown that did not wait would let the validation write to the storage of a session that has ended.
    @Test(arguments: [Duration.zero, .seconds(10)])
    func theShutdownWaitsForTheValidation(_ grace: Duration) async throws {
        let storage = GatedStorage()
        // A shutdown waits for two seconds, which the clock of a busy machine may count in the loop below.
        let world = World(storage: storage, clock: TestClock()) { _ in
            World.response("one", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        _ = try await world.get()
        world.pass(70)
        #expect(try await world.get()[1] == "trellis; hit; ttl=-10; detail=stale-while-revalidate")
        try await storage.isReached.opened()
        let session = try world.session
        let shutdown = Task { await session.shutdown(drainingFor: grace) }
        while !session.life.isShutDown, !Task.isCancelled { await Task.yield() }
        for _ in 0..<1000 where !session.life.hasEnded { await Task.yield() }
        #expect(!session.life.hasEnded && session.validations.count == 1)
        storage.gate.open()
        await shutdown.value
        #expect(session.life.hasEnded && session.validations.count == 0)
        // The response had been received completely: it is stored, with or without a grace.
        #expect(world.cache.statistics.storedCount == 2)
    }

    /// Begins a validation whose response has no end, and returns when its request was sent.
    private func beginEndless(
        _ fields: HTTPFields, clock: TestClock, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> World {
        let count = Locked(0)
        let world = World(clock: clock) {
            $0.timeouts.idle = nil
            change(&$0)
        } _: { _ in
            guard count.next() > 1 else {
                return World.response("one", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
            }
            return MockResponse(headers: fields) { writer in
                try await writer.write("12345678")
                try await LoopbackServer.Gate().opened()
            }
        }
        _ = try await world.get()
        world.pass(70)
        _ = try await world.get()
        try await world.transport.waitUntilRequested(count: 2)
        return world
    }

    /// Returns when no validation is under way, and checks that the stored response is the first one.
    private func expectNoValidation(in world: World) async throws {
        let session = try world.session
        while session.validations.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(session.validations.count == 0 && world.cache.exchanges.leaderCount == 0)
        #expect(world.cache.statistics.storedCount == 1)
    }

    /// Nobody waits for a validation who could cancel it: it has the limits of a response in memory.
    @Test func aValidationEndsInTime() async throws {
        let clock = TestClock()
        let world = try await beginEndless([.cacheControl: "max-age=60"], clock: clock)
        try await world.session.settle()
        #expect(try world.session.validations.count == 1)
        clock.move(by: .seconds(300))
        try await expectNoValidation(in: world)
    }

    @Test func aValidationHasTheLimitOnTheSize() async throws {
        let world = try await beginEndless([.cacheControl: "max-age=60"], clock: TestClock()) {
            $0.maximumBodySize = .bytes(7)
        }
        try await expectNoValidation(in: world)
    }

    @Test func aBodyThatIsNotStoredIsNotReceived() async throws {
        let world = try await beginEndless(
            [.cacheControl: "no-store", .contentLength: "1000000"], clock: TestClock())
        try await expectNoValidation(in: world)
    }

    /// The validation in progress ends with the session, and none begins after that.
    @Test func theShutdownCancelsTheValidation() async throws {
        let count = Locked(0)
        // The shutdown waits for two seconds of a clock that stands still.
        let world = World(clock: TestClock()) { _ in
            let number = count.next()
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
