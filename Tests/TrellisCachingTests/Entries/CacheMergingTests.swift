import CurlEngine
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Requests at the same time: which of them are sent, and which wait for the response to another one.
@Suite(.timeLimit(.minutes(3)))
struct CacheMergingTests {
    private typealias World = CacheWorld

    /// Sends two requests at the same time. Returns how many of them are sent before there is a response.
    ///
    /// The clock stands still, so that the limit on the wait of one for the other ends none.
    private func sentCount(_ one: Request, _ other: Request) async throws -> Int {
        let gate = LoopbackServer.Gate()
        let world = World(clock: TestClock()) { request in
            try await gate.opened()
            return World.response(request.request.method == .head ? "" : "one")
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for request in [one, other] { group.addTask { _ = try await world.session.data(request) } }
            while world.transport.startedCount + world.cache.exchanges.waitingCount < 2, !Task.isCancelled {
                await Task.yield()
            }
            let count = world.transport.startedCount
            gate.open()
            try await group.waitForAll()
            return count
        }
    }

    /// An unsafe request has an effect each time, and a cache must not repeat or drop it (RFC 9111, section 4).
    @Test(arguments: [.post, .put, .patch, .delete, .options, .head] as [HTTPRequest.Method])
    func equalRequestsWithAnotherMethodThanGETAreAllSent(_ method: HTTPRequest.Method) async throws {
        let request = Request(World.url, method: method)
        #expect(try await sentCount(request, request) == 2)
    }

    @Test(arguments: [.post, .head] as [HTTPRequest.Method])
    func aRequestIsNotMergedWithAGET(_ method: HTTPRequest.Method) async throws {
        #expect(try await sentCount(Request(World.url), Request(World.url, method: method)) == 2)
    }

    /// A request whose response depends on more than its URL waits for no other one.
    @Test(
        arguments: [
            [.range: "bytes=0-1,4-5"], [.range: "bytes=0-1", .ifRange: "\"1\""], [.ifNoneMatch: "\"1\""],
            [.cacheControl: "max-age=1"], [.cacheControl: "no-store"],
        ] as [HTTPFields])
    func aGETThatAsksForMoreIsSent(_ fields: HTTPFields) async throws {
        let request = Request(World.url, headers: fields)
        #expect(try await sentCount(request, request) == 2)
    }

    /// These modes ask for a request of the caller's own.
    @Test(arguments: [.reload, .noCache, .noStore] as [CacheMode])
    func aGETInAnotherModeIsSent(_ mode: CacheMode) async throws {
        #expect(try await sentCount(request(mode), request(mode)) == 2)
    }

    @Test(arguments: [.default, .forceCache] as [CacheMode], [.default, .forceCache] as [CacheMode])
    func equalGETsAreMerged(_ one: CacheMode, _ other: CacheMode) async throws {
        #expect(try await sentCount(request(one), request(other)) == 1)
    }

    /// Each of the requests that wait would fail after the time of all failures before its own.
    @Test(arguments: [false, true])
    func afterAStaleResponseAllThatWaitAskAtTheSameTime(_ isUnreachable: Bool) async throws {
        let (first, rest, count) = (LoopbackServer.Gate(), LoopbackServer.Gate(), Locked(0))
        let world = World(clock: TestClock()) { _ in
            let number = count.next()
            if number == 1 { return World.response("one", [.cacheControl: "max-age=60, stale-if-error=600"]) }
            try await (number == 2 ? first : rest).opened()
            if isUnreachable { throw TransportFailure(.connectionFailed(.unreachable("down"))) }
            return World.response("down", status: 503, [:])
        }
        _ = try await world.get()
        world.pass(61)
        let leader = Task { try await world.get() }
        try await world.transport.waitUntilRequested(count: 2)
        let others = (1...2).map { _ in Task { try await world.get() } }
        while world.cache.exchanges.waitingCount != 2, !Task.isCancelled { await Task.yield() }
        first.open()
        #expect(try await leader.value[0] == "one")
        // If one of them led, the other one would wait for it.
        while world.transport.startedCount < 4, world.cache.exchanges.waitingCount != 1, !Task.isCancelled {
            await Task.yield()
        }
        #expect(world.transport.startedCount == 4)
        rest.open()
        for other in others { #expect(try await other.value[0] == "one") }
    }

    private func request(_ mode: CacheMode) -> Request {
        var request = Request(World.url)
        request.cacheMode = mode
        return request
    }
}
