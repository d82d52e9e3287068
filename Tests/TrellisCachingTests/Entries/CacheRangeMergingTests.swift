import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Requests for a range at the same time: equal ones are sent once, and those for other bytes are none of them.
@Suite(.timeLimit(.minutes(3)))
struct CacheRangeMergingTests {
    private typealias World = CacheWorld

    private let origin = PartOrigin()
    private let gate = LoopbackServer.Gate()

    /// Returns a world whose responses wait for the gate, apart from the first ones.
    ///
    /// The clock stands still, so that the limit on the wait of one request for another ends none.
    private func world(atOnce count: Int = 0) -> CacheWorld {
        let (origin, gate, requests) = (origin, gate, Locked(0))
        return World(clock: TestClock()) { request in
            let number = requests.next()
            if number > count { try await gate.opened() }
            return origin.response(to: request)
        }
    }

    /// Waits until so many requests have been sent, or wait for another one.
    private func untilBegun(_ count: Int, _ world: CacheWorld) async {
        while world.transport.startedCount + world.cache.exchanges.waitingCount < count, !Task.isCancelled {
            await Task.yield()
        }
    }

    /// Sends requests at the same time. Returns their texts and statuses, and how many requests the server has when all have begun.
    private func results(
        _ ranges: [String?], _ world: CacheWorld, isStream: Bool = false
    ) async throws -> (texts: [String], statuses: [String], sentCount: Int) {
        let before = world.transport.startedCount
        return try await withThrowingTaskGroup(of: (String, String).self) { group in
            for range in ranges {
                group.addTask {
                    let (text, response) = try await world.get(range, isStream: isStream)
                    return (text, response.cacheStatus?.description ?? "none")
                }
            }
            await untilBegun(before + ranges.count, world)
            let sentCount = world.transport.startedCount - before
            gate.open()
            let results = try await group.reduce(into: [(String, String)]()) { $0.append($1) }
            return (results.map(\.0), results.map(\.1), sentCount)
        }
    }

    @Test(arguments: ["bytes=2-4", "bytes=2-", "bytes=-3"], [false, true])
    func equalRangesSendOneRequest(_ range: String, _ isStream: Bool) async throws {
        let world = world()
        let (texts, statuses, sentCount) = try await results([range, range, range], world, isStream: isStream)
        #expect(sentCount == 1 && world.transport.startedCount == 1)
        let expected = ["bytes=2-4": "234", "bytes=2-": "23456789", "bytes=-3": "789"][range]
        #expect(Set(texts) == [try #require(expected)])
        #expect(statuses.count { $0 == "trellis; fwd=uri-miss; ttl=60; stored" } == 1)
        #expect(statuses.count { $0 == "trellis; fwd=uri-miss; ttl=60; collapsed" } == 2)
        #expect(world.cache.exchanges.leaderCount == 0)
    }

    @Test(arguments: ["bytes=0-2", "bytes=0-", "bytes=-2", "Bytes=0-1", nil])
    func aRangeIsNotMergedWithAnother(_ other: String?) async throws {
        let world = world()
        let (texts, _, sentCount) = try await results(["bytes=0-1", other], world)
        #expect(sentCount == 2)
        let expected = other.map { ["bytes=0-2": "012", "bytes=-2": "89", "Bytes=0-1": "01"][$0] ?? "0123456789" }
        #expect(texts.sorted() == ["01", expected ?? "0123456789"].sorted())
    }

    /// Without a strong validator, a part is not stored (RFC 9111, section 3.3).
    @Test func aPartThatIsNotStoredIsNotShared() async throws {
        origin.replace("0123456789", "W/\"1\"")
        let world = world()
        let ranges = ["bytes=2-4", "bytes=2-4", "bytes=2-4"]
        let (texts, statuses, sentCount) = try await results(ranges, world)
        #expect(sentCount == 1 && world.transport.startedCount == 3)
        #expect(Set(texts) == ["234"] && Set(statuses) == ["trellis; fwd=uri-miss; detail=range"])
    }

    @Test func aCancelledRangeHandsOver() async throws {
        let world = world()
        let first = Task { try await world.get(World.request("bytes=2-4")) }
        try await world.transport.waitUntilRequested(count: 1)
        let others = (1...2).map { _ in Task { try await world.get(World.request("bytes=2-4")) } }
        await untilBegun(3, world)
        first.cancel()
        try await world.transport.waitUntilRequested(count: 2)
        gate.open()
        for other in others { #expect(try await other.value[0] == "234") }
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(world.transport.startedCount == 2)
    }

    // MARK: Stored parts

    /// A stored part lacks bytes that several requests ask for.
    @Test(arguments: [nil, "bytes=0-9", "bytes=5-9"], [false, true])
    func equalRequestsForMoreThanAPartSendOneRequest(_ range: String?, _ isStream: Bool) async throws {
        let world = world(atOnce: 1)
        _ = try await world.get(World.request("bytes=0-4"))
        let (texts, statuses, sentCount) = try await results([range, range, range], world, isStream: isStream)
        #expect(sentCount == 1 && world.transport.startedCount == 2)
        #expect(Set(texts) == [range == "bytes=5-9" ? "56789" : "0123456789"])
        #expect(statuses.count { $0 == "trellis; fwd=partial; ttl=60; collapsed" } == 2)
        #expect(world.cache.exchanges.leaderCount == 0)
    }

    /// A shorter part is not stored instead of a longer one. The requests that wait for it are sent at the same time, not one after the
    /// other.
    @Test func aShorterPartIsNotShared() async throws {
        origin.replace(String(repeating: "0123456789", count: 100), "\"1\"")
        let (origin, gate, rest, count) = (origin, gate, LoopbackServer.Gate(), Locked(0))
        let world = World(clock: TestClock()) { request in
            let number = count.next()
            if number > 1 { try await (number == 2 ? gate : rest).opened() }
            return origin.response(to: request)
        }
        _ = try await world.get(World.request("bytes=0-799"))
        let gets = (1...3).map { _ in Task { try await world.get(World.request("bytes=795-804")) } }
        await untilBegun(4, world)
        #expect(world.transport.startedCount == 2)
        gate.open()
        // If one of them led, the other one would wait for it.
        while world.transport.startedCount < 4, world.cache.exchanges.waitingCount != 1, !Task.isCancelled {
            await Task.yield()
        }
        #expect(world.transport.startedCount == 4)
        rest.open()
        for get in gets { #expect(try await get.value[0] == "5678901234") }
    }

    /// The response is stale for all of its bytes.
    @Test func requestsForSeveralRangesValidateAResponseOnce() async throws {
        let (gate, count) = (gate, Locked(0))
        let world = World { _ in
            let number = count.next()
            if number > 1 { try await gate.opened() }
            return World.response("0123456789", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        _ = try await world.get()
        world.pass(70)
        for range in ["bytes=0-1", "bytes=2-3"] {
            #expect(try await world.get(World.request(range))[1].hasPrefix("trellis; hit; ttl=-10"))
        }
        #expect(try world.session.validations.count == 1)
        gate.open()
        try await world.transport.waitUntilIdle()
    }
}
