#if Redis
import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisRedis

/// A server that cannot be reached, that is slow, full or away: requests go on without it, and with it when it is back.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("redis-server"))
struct RedisFailureTests {
    private let peer: RedisPeer
    private let key = CacheKey(url: "http://localhost/a")

    init() async throws { peer = try await RedisPeer() }

    /// Returns a session with a cache on a server, whose origin counts its requests.
    private func session(_ server: RedisServer) -> (session: Session, origin: MockTransport, cache: HTTPCache) {
        let origin = MockTransport { _ in
            MockResponse(status: 200, headers: [.cacheControl: "max-age=600"], body: Data("origin".utf8))
        }
        let cache = HTTPCache(storage: RedisCacheStorage(server), policy: CachePolicy(sharing: .shared))
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        return (Session(configuration: configuration, transport: origin), origin, cache)
    }

    /// Waits until a storage can be read again, while the clock goes on.
    private func waitUntilBack(_ storage: RedisCacheStorage, _ clock: TestClock? = nil) async throws {
        while true {
            try Task.checkCancellation()
            let lookup = Task { try await storage.entries(for: key) }
            if let clock { await move(clock, until: lookup) }
            if (try? await lookup.value) != nil { return }
        }
    }

    /// Moves a clock until a task has ended.
    private func move(_ clock: TestClock, until task: Task<[CacheEntry], any Error>) async {
        let hasEnded = Locked(false)
        let end = Task {
            _ = try? await task.value
            hasEnded.withLock { $0 = true }
        }
        while !Task.isCancelled, !hasEnded.withLock({ $0 }) {
            clock.move(by: .milliseconds(10))
            await Task.yield()
        }
        await end.value
    }

    @Test(arguments: RedisPeer.Way.allCases) func theWaysToTheServer(_ way: RedisPeer.Way) async throws {
        let server = try peer.server(way)
        let storage = try RedisCacheStorage.made(server)
        try await storage.store(noise(300_000), for: key)
        #expect(try await storage.bodies(key) == [noise(300_000)])
        await server.shutdown()
        await #expect(throws: RedisFailure.unavailable) { try await storage.entries(for: key) }
    }

    @Test func aServerWithoutATrustedCertificateIsNotAsked() async throws {
        let server = try peer.server(.tls) { $0.tls.authorities = .system }
        let storage = try RedisCacheStorage.made(server)
        await #expect {
            try await storage.entries(for: key)
        } throws: { error in
            if case RedisFailure.disconnected = error { true } else { false }
        }
        await server.shutdown()
    }

    /// The error names the reason, also to the requests that do not wait.
    @Test func aWrongPasswordIsNoReasonToFail() async throws {
        let server = try peer.server(.port) { $0.password = "wr0ng" }
        let (session, origin, cache) = session(server)
        for _ in 1...2 { #expect(try await session.string("http://localhost/a") == "origin") }
        #expect(origin.requests.count == 2 && cache.statistics.failureCount > 0)
        await #expect {
            try await cache.storage.entries(for: key)
        } throws: { error in
            guard case RedisFailure.refused(let reason) = error else { return false }
            return reason.hasPrefix("WRONGPASS") && !reason.contains("wr0ng")
        }
        await session.shutdown()
        await server.shutdown()
    }

    /// A request waits for 50 milliseconds, and the next ones do not wait. When the server has answered what it owes, it is asked again.
    @Test func aServerThatIsStoppedIsWaitedForOnce() async throws {
        let clock = TestClock()
        let server = try peer.server(clock: clock) { $0.patience = .milliseconds(50) }
        let storage = try RedisCacheStorage.made(server)
        try await waitUntilBack(storage, clock)
        try await peer.tell("stop")
        let late = Task { try await storage.entries(for: key) }
        while await server.connection.countUnderWay == 0 { try Task.checkCancellation() }
        clock.move(by: .milliseconds(50))
        await #expect(throws: RedisFailure.late) { try await late.value }
        // The clock stands still: these wait for nothing.
        for _ in 1...3 {
            await #expect(throws: RedisFailure.unavailable) { try await storage.entries(for: key) }
        }
        try await peer.tell("continue")
        try await waitUntilBack(storage, clock)
        await server.shutdown()
    }

    /// All waits of a request count together: what it has waited for the head, it does not wait for the body.
    @Test func theWaitsOfARequestCountTogether() async throws {
        let server = try peer.server()
        let storage = try RedisCacheStorage.made(server)
        try await storage.store(noise(300_000), for: key)
        let visit = StorageVisit()
        try await StorageVisit.$current.withValue(visit) {
            let entry = try #require(try await storage.entries(for: key).first)
            #expect(visit.waited > .zero && visit.waited < server.configuration.patience)
            _ = try await entry.body.bytes(in: 0..<100)
            visit.add(server.configuration.patience)
            await #expect(throws: RedisFailure.late) { try await entry.body.bytes(in: 0..<100) }
        }
        await server.shutdown()
    }

    /// What the stopped server finds in its socket when it goes on, is older than what was invalidated meanwhile on a new connection.
    @Test func aRequestThatFindsTheServerStoppedGoesOn() async throws {
        let server = try peer.server { $0.patience = .milliseconds(50) }
        let (session, origin, cache) = session(server)
        // The first connection is made.
        while (try? await cache.storage.entries(for: key)) == nil { try Task.checkCancellation() }
        try await peer.tell("stop")
        for _ in 1...3 { #expect(try await session.string("http://localhost/a") == "origin") }
        #expect(origin.requests.count == 3)
        try await peer.tell("continue")
        await session.shutdown()
        await server.shutdown()
    }

    @Test func aServerThatIsKilledAndStartedAgainIsUsedAgain() async throws {
        let server = try peer.server()
        let (session, origin, cache) = session(server)
        for _ in 1...2 { #expect(try await session.string("http://localhost/a") == "origin") }
        #expect(origin.requests.count == 1)
        let large = try RedisCacheStorage.made(server)
        try await large.store(noise(300_000), for: key)
        let entry = try #require(try await large.entries(for: key).first)
        try await peer.tell("kill")
        #expect(try await session.string("http://localhost/a") == "origin")
        #expect(origin.requests.count == 2)
        // The body has vanished: there is an error, and not its beginning.
        await #expect(throws: RedisFailure.self) { try await entry.body.bytes(in: 0..<300_000) }
        try await peer.tell("start")
        try await waitUntilBack(large)
        await #expect(throws: RedisFailure.damaged) { try await entry.body.bytes(in: 0..<300_000) }
        for _ in 1...2 { #expect(try await session.string("http://localhost/a") == "origin") }
        #expect(origin.requests.count == 3)
        #expect(try await cache.storage.usage.count == 1)
        await session.shutdown()
        await server.shutdown()
    }

    /// Nothing more is stored, but what is stored can be removed.
    @Test func aFullServerIsReadAndInvalidated() async throws {
        let server = try peer.server()
        let storage = try RedisCacheStorage.made(server)
        try await storage.store(Data("a".utf8), for: key)
        try await peer.tell("full")
        let other = CacheKey(url: "http://localhost/b")
        for size in [10, 300_000] {
            await #expect {
                try await storage.store(noise(size), for: other)
            } throws: { error in
                guard case RedisFailure.refused(let reason) = error else { return error is RedisCacheStorage.Refusal }
                return reason.hasPrefix("OOM")
            }
        }
        #expect(try await storage.bodies(key) == [Data("a".utf8)])
        let (session, origin, _) = session(server)
        for _ in 1...2 { #expect(try await session.string("http://localhost/c") == "origin") }
        #expect(origin.requests.count == 2)
        try await storage.removeEntries(for: key)
        #expect(try await storage.entries(for: key).isEmpty)
        try await peer.tell("roomy")
        try await storage.store(Data("b".utf8), for: key)
        #expect(try await storage.bodies(key) == [Data("b".utf8)])
        await session.shutdown()
        await server.shutdown()
    }
}
#endif
