import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Equal requests at the same time, and responses that arrive in another order than their requests.
@Suite(.timeLimit(.minutes(3)))
struct CacheSharingTests {
    private typealias World = CacheWorld

    private static func fields(_ more: HTTPFields = [:]) -> HTTPFields { [.cacheControl: "max-age=60"] + more }

    private func untilWaiting(_ count: Int, _ world: CacheWorld) async {
        while world.cache.exchanges.waitingCount != count, !Task.isCancelled { await Task.yield() }
    }

    // MARK: Equal requests

    // The clocks stand still, so that the limit on the wait of one request for another ends none.

    @Test func equalMissesAtTheSameTimeSendOneRequest() async throws {
        let gate = LoopbackServer.Gate()
        let world = World.waiting(at: gate, clock: TestClock())
        let results = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 1...20 { group.addTask { try await world.get() } }
            await untilWaiting(19, world)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(world.transport.requests.count == 1)
        #expect(Set(results.map { $0[0] }) == ["one"])
        #expect(results.count { $0[1] == "trellis; fwd=uri-miss; ttl=60; stored" } == 1)
        #expect(results.count { $0[1] == "trellis; fwd=uri-miss; ttl=60; collapsed" } == 19)
        let statistics = world.cache.statistics
        #expect(statistics.coalescedCount == 19 && statistics.missCount == 1 && statistics.storedCount == 1)
        #expect(world.cache.exchanges.leaderCount == 0 && world.cache.exchanges.count == 0)
    }

    /// A response for one request alone is shared with no other.
    /// The same holds for a failure.
    @Test(arguments: [false, true])
    func aResponseThatIsNotStoredIsNotShared(_ isFailing: Bool) async throws {
        let gate = LoopbackServer.Gate()
        let count = Locked(0)
        let world = World(clock: TestClock()) { _ in
            let number = count.next()
            try await gate.opened()
            if number == 1, isFailing {
                throw TransportFailure(.connectionFailed(.unreachable("down")))
            }
            return World.response("\(number)", [.cacheControl: "no-store"])
        }
        let results = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 1...5 { group.addTask { try? await world.get()[0] } }
            await untilWaiting(4, world)
            try await world.transport.waitUntilRequested(count: 1)
            #expect(world.transport.startedCount == 1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(world.transport.startedCount == 5)
        #expect(Set(results.compactMap(\.self)).count == (isFailing ? 4 : 5))
    }

    @Test func aCancelledRequestHandsOver() async throws {
        let gate = LoopbackServer.Gate()
        let world = World.waiting(at: gate, clock: TestClock())
        let first = try await world.begin()
        let others = (1...3).map { _ in Task { try await world.get() } }
        await untilWaiting(3, world)
        first.cancel()
        try await world.transport.waitUntilRequested(count: 2)
        await untilWaiting(2, world)
        gate.open()
        for other in others { #expect(try await other.value[0] == "one") }
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(world.transport.requests.count == 2)
    }

    /// A stream that ends early is not stored, and the requests that wait for it send their own.
    @Test(arguments: [false, true])
    func aStreamThatIsCutHoldsUpNoOther(_ isLeft: Bool) async throws {
        let gate = LoopbackServer.Gate()
        let count = Locked(0)
        let world = World(clock: TestClock()) { _ in
            let number = count.next()
            return MockResponse(headers: Self.fields()) { writer in
                try await writer.write("begin")
                if number > 1 { return }
                try await gate.opened()
                throw TransportFailure(.connectionFailed(.unreachable("gone")))
            }
        }
        var stream: StreamResponse? = try await world.session.stream(World.url)
        let others = (1...3).map { _ in Task { try await world.get()[0] } }
        await untilWaiting(3, world)
        if isLeft {
            stream = nil
        } else {
            gate.open()
            await #expect(throws: (any Error).self) {
                for try await _ in try #require(stream).chunks {}
            }
        }
        for other in others { #expect(try await other.value == "begin") }
        gate.open()
        try await world.transport.waitUntilIdle()
        // The storage may end after the response.
        while try await world.storedCount != 1, !Task.isCancelled { await Task.yield() }
    }

    @Test func aRequestWaitsForAnotherNoLongerThanThePolicySays() async throws {
        let gate = LoopbackServer.Gate()
        let count = Locked(0)
        let world = World(policy: CachePolicy(maximumCoalescedWait: .milliseconds(1))) { _ in
            let isFirst = count.next() == 1
            if isFirst { try await gate.opened() }
            return World.response("one")
        }
        let first = try await world.begin()
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        gate.open()
        _ = try await first.value
    }

    /// The requests that others wait for are cancelled one after the other: the limit is on all of the waits together.
    @Test func theWaitsForSeveralRequestsHaveOneLimit() async throws {
        let (gate, clock) = (LoopbackServer.Gate(), TestClock())
        let world = World.waiting(at: gate, clock: clock)
        let first = try await world.begin()
        let others = (1...2).map { _ in Task { try await world.get() } }
        await untilWaiting(2, world)
        clock.move(by: .seconds(4))
        first.cancel()
        // One of the others is sent.
        try await world.transport.waitUntilRequested(count: 2)
        await untilWaiting(1, world)
        // The second wait has a second left. With five of them, it would not end here.
        clock.move(by: .seconds(1))
        try await world.transport.waitUntilRequested(count: 3)
        gate.open()
        for other in others { #expect(try await other.value[0] == "one") }
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    /// A request would otherwise have the place of a less urgent one in a queue.
    @Test(arguments: [(RequestPriority.low, RequestPriority.normal), (.normal, .high), (.low, .high)])
    func aMoreUrgentRequestIsSent(_ first: RequestPriority, _ second: RequestPriority) async throws {
        let gate = LoopbackServer.Gate()
        let world = World(clock: TestClock()) { request in
            if request["x-priority"] == "\(first)" { try await gate.opened() }
            return World.response("one")
        }
        func request(_ priority: RequestPriority) throws -> Request {
            let name = try #require(HTTPField.Name("X-Priority"))
            return Request(World.url, headers: [name: "\(priority)"]).withPriority(priority)
        }
        let waiting = try request(first)
        let others = (1...2).map { _ in Task { try await world.get(waiting)[0] } }
        await untilWaiting(1, world)
        #expect(try await world.get(request(second))[0] == "one")
        gate.open()
        for other in others { #expect(try await other.value == "one") }
        #expect(world.transport.requests.count == 2)
    }

    @Test(arguments: ["range", "if-none-match", "cache-control"])
    func aRequestThatAsksForMoreIsSent(_ field: String) async throws {
        let gate = LoopbackServer.Gate()
        let world = World { request in
            if request.headers.count == 0 || request[field] == nil { try await gate.opened() }
            return World.response("one")
        }
        let first = try await world.begin()
        let name = try #require(HTTPField.Name(field))
        let value = ["range": "bytes=0-0", "if-none-match": "\"1\"", "cache-control": "no-cache"][field]
        #expect(try await world.get(Request(World.url, headers: [name: try #require(value)]))[0] == "one")
        gate.open()
        _ = try await first.value
    }

    // MARK: In the background

    @Test func aStaleResponseIsValidatedInTheBackground() async throws {
        let gate = LoopbackServer.Gate()
        let count = Locked(0)
        let world = World { _ in
            let number = count.next()
            if number > 1 { try await gate.opened() }
            return World.response("\(number)", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        #expect(try await world.get()[0] == "1")
        world.pass(70)
        for _ in 1...3 {
            #expect(try await world.get() == ["1", "trellis; hit; ttl=-10; detail=stale-while-revalidate"])
        }
        try await world.transport.waitUntilRequested(count: 2)
        gate.open()
        try await world.transport.waitUntilIdle()
        while world.cache.exchanges.leaderCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await world.get() == ["2", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.count == 2)
    }

    @Test func theShutdownEndsTheValidationInTheBackground() async throws {
        let count = Locked(0)
        let world = World { _ in
            let isFirst = count.next() == 1
            if !isFirst { try await LoopbackServer.Gate().opened() }
            return World.response("one", [.cacheControl: "max-age=60, stale-while-revalidate=30"])
        }
        _ = try await world.get()
        world.pass(70)
        _ = try await world.get()
        try await world.transport.waitUntilRequested(count: 2)
        await (try world.session).shutdown()
        try await world.transport.waitUntilCancelled(count: 1)
    }

    // MARK: Order

    @Test func aResponseFromBeforeAnInvalidationIsNotStored() async throws {
        let gate = LoopbackServer.Gate()
        let world = World { request in
            if request.method == .get { try await gate.opened() }
            return World.response("one")
        }
        let get = try await world.begin()
        _ = try await world.get(Request(World.url, method: .post))
        gate.open()
        #expect(try await get.value[1] == "trellis; fwd=uri-miss; ttl=60; detail=storage")
        #expect(try await world.storedCount == 0)
    }

    @Test func aResponseFromBeforeAStoredOneIsNotStored() async throws {
        let gate = LoopbackServer.Gate()
        let world = World { request in
            if request.request.cacheMode == .reload { return World.response("2") }
            try await gate.opened()
            return World.response("1")
        }
        let old = try await world.begin()
        #expect(try await world.get(Request(World.url).withCacheMode(.reload))[0] == "2")
        gate.open()
        #expect(try await old.value[0] == "1")
        #expect(try await world.get() == ["2", "trellis; hit; ttl=60"])
    }

    @Test func theVariantsThatAreToldApartAreBounded() {
        let (exchanges, key) = (CacheExchanges(), CacheKey(url: World.url))
        let old = exchanges.begin(key)
        for number in 0..<1000 { #expect(exchanges.begin(key).mayStore("\(number)")) }
        // Whether a later exchange has stored this variant is not known any more.
        #expect(!old.mayStore("0") && !old.mayStore("another"))
        #expect(exchanges.begin(key).mayStore("0") && old.isValid)
    }

    @Test func leadersOfManyVariantsAreToldApart() {
        let (exchanges, key) = (CacheExchanges(), CacheKey(url: World.url))
        let variants: [String?] = [nil, "\u{E9}", "e\u{301}"] + (0..<100).map { "\($0)" }
        var leaders: [CacheTicket] = []
        for variant in variants {
            if case .leader(let leader) = exchanges.join(key, variant: variant) { leaders.append(leader) }
        }
        #expect(leaders.count == variants.count && exchanges.leaderCount == variants.count)
        for variant in variants {
            if case .leader = exchanges.join(key, variant: variant) { Issue.record("\(variant ?? "none")") }
        }
        // The first one may end before the others.
        for (index, leader) in leaders.enumerated() {
            leader.settle(.stored)
            #expect(exchanges.leaderCount == variants.count - index - 1)
        }
        leaders = []
        #expect(exchanges.count == 0)
    }

    @Test func removalsReachResponsesThatAreUnderWay() async throws {
        for isAll in [false, true] {
            let gate = LoopbackServer.Gate()
            let world = World.waiting(at: gate)
            let get = try await world.begin()
            if isAll { try await world.cache.removeAll() } else { try await world.cache.remove(World.url) }
            gate.open()
            _ = try await get.value
            #expect(try await world.storedCount == 0)
        }
    }
}
