import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Requests that wait for their turn: the time before they are sent is no age of their responses (RFC 9111, section 4.2.3).
@Suite(.timeLimit(.minutes(3)))
struct CacheQueueTests {
    private typealias World = CacheWorld

    private static let fresh: HTTPFields = [.cacheControl: "max-age=10"]
    private static let hit = "trellis; hit; ttl=10"

    @Test func theWaitForARateLimitIsNoAge() async throws {
        let (clock, limiter) = (TestClock(), RateLimiter(RateLimit(requestsPerSecond: 0.05)))
        let world = World(clock: clock) {
            $0.steps.rateLimiters = [limiter]
        } _: { _ in
            World.response("one", Self.fresh)
        }
        _ = try await world.get(Request("http://localhost/first"))
        func waiting(_ request: Request) async throws -> [String] {
            let second = Task { try await world.get(request) }
            while limiter.waitingCount(host: "localhost") != 1, !Task.isCancelled { await Task.yield() }
            await (try world.session).settle()
            world.pass(20)
            clock.move(by: .seconds(20))
            return try await second.value
        }
        #expect(try await waiting(Request(World.url))[1] == "trellis; fwd=uri-miss; ttl=10; stored")
        #expect(try await world.get()[1] == Self.hit)
        #expect(
            try await waiting(Request(World.url).withCacheMode(.reload))[1] == "trellis; fwd=bypass; ttl=10; stored")
        #expect(try await world.get()[1] == Self.hit)
        #expect(world.transport.requests.count == 3)
    }

    @Test func theWaitForAConnectionIsNoAge() async throws {
        let (clock, gate) = (TestClock(), LoopbackServer.Gate())
        let world = World(clock: clock) {
            $0.limits = ConnectionLimits(total: 1, perOrigin: 1)
        } _: { request in
            if request.url.hasSuffix("/first") { try await gate.opened() }
            return World.response("one", Self.fresh)
        }
        let session = try world.session
        let first = Task { try await world.get(Request("http://localhost/first")) }
        try await world.transport.waitUntilRequested(count: 1)
        let second = Task { try await world.get() }
        while await session.liveRequestCount != 2, !Task.isCancelled { await Task.yield() }
        await session.settle()
        world.pass(20)
        clock.move(by: .seconds(20))
        gate.open()
        _ = try await first.value
        #expect(try await second.value[1] == "trellis; fwd=uri-miss; ttl=10; stored")
        #expect(try await world.get()[1] == Self.hit)
    }

    /// The time after a request was sent is one: an origin may have made its response at any instant of it.
    @Test func theTimeForTheResponseIsAge() async throws {
        let (clock, gate) = (TestClock(), LoopbackServer.Gate())
        let world = World(clock: clock) {
            $0.timeouts = Timeouts(connect: nil, responseHead: nil)
        } _: { _ in
            try await gate.opened()
            return World.response("one", Self.fresh)
        }
        let get = try await world.begin()
        world.pass(20)
        clock.move(by: .seconds(20))
        gate.open()
        _ = try await get.value
        #expect(try await world.get()[1].contains("fwd=stale"))
    }
}
