#if Redis
import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisRedis

/// Ten sessions, each with a cache and a connection of its own as ten processes have them, before one origin.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("redis-server"))
struct RedisFleetTests {
    /// A process of the fleet.
    private struct Member: Sendable {
        let server: RedisServer
        let cache: HTTPCache
        let session: Session

        func get(_ url: String, _ method: HTTPRequest.Method = .get) async throws -> (text: String, status: String) {
            let (data, response) = try await session.data(Request(url, method: method))
            return (String(decoding: data, as: UTF8.self), response.cacheStatus?.description ?? "none")
        }

        func end() async {
            await session.shutdown()
            await server.shutdown()
        }
    }

    private let peer: RedisPeer
    private let prefix = UUID().uuidString

    init() async throws { peer = try await RedisPeer.shared.value }

    /// - Parameters:
    ///   - origin: The origin, unless it is at a socket.
    ///   - lease: The time of a turn. A machine that is busy is not what these tests are about.
    private func member(_ origin: MockTransport? = nil, lease: Duration = .seconds(600)) throws -> Member {
        let server = try peer.server {
            $0.prefix = prefix
            $0.lease = lease
        }
        let policy = CachePolicy(sharing: .shared, maximumCoalescedWait: .seconds(600))
        let cache = HTTPCache(storage: RedisCacheStorage(server), policy: policy)
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        let session =
            origin.map { Session(configuration: configuration, transport: $0) } ?? Session(configuration: configuration)
        return Member(server: server, cache: cache, session: session)
    }

    private func fleet(_ origin: MockTransport? = nil) throws -> [Member] {
        try (0..<10).map { _ in try member(origin) }
    }

    /// Sends a request from all members at once, and returns their responses.
    private func getAll(_ fleet: [Member], _ url: String) async throws -> [(text: String, status: String)] {
        try await withThrowingTaskGroup(of: (text: String, status: String).self) { group in
            for member in fleet { group.addTask { try await member.get(url) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func end(_ fleet: [Member]) async { for member in fleet { await member.end() } }

    /// What nobody has is fetched once.
    @Test func tenMissesAreOneRequest() async throws {
        let gate = LoopbackServer.Gate()
        let origin = MockTransport { _ in
            try await gate.opened()
            return MockResponse(status: 200, headers: [.cacheControl: "max-age=600"], body: Data("hello".utf8))
        }
        let fleet = try fleet(origin)
        let answers = Task { try await getAll(fleet, "http://localhost/a") }
        try await origin.waitUntilRequested(count: 1)
        gate.open()
        let texts = try await answers.value.map { $0.text }
        #expect(texts == [String](repeating: "hello", count: 10))
        #expect(origin.requests.count == 1)
        await end(fleet)
    }

    /// A response that is stale for all is validated once, and all have the new head.
    @Test func tenValidationsAreOneRequest() async throws {
        let text = String(repeating: "a", count: 200_000)
        let server = try LoopbackServer.http { request in
            if request["If-None-Match"] == "\"1\"" {
                return .init(status: 304, headers: [.cacheControl: "max-age=600", .eTag: "\"1\""])
            }
            return .init(headers: [.cacheControl: "max-age=0", .eTag: "\"1\""], body: Data(text.utf8))
        }
        let fleet = try fleet()
        let url = server.url("/a")
        _ = try await fleet[0].get(url)
        let answers = try await getAll(fleet, url)
        #expect(answers.allSatisfy { $0.text == text })
        #expect(server.requests.count == 2)
        await end(fleet)
    }

    /// All use the stale response at once, and one of them validates it in the background.
    @Test func tenStaleResponsesAreValidatedOnceInTheBackground() async throws {
        let server = try LoopbackServer.http { request in
            let isFirst = request["If-None-Match"] == nil
            return .init(
                status: isFirst ? 200 : 304,
                headers: [
                    .cacheControl: isFirst ? "max-age=0, stale-while-revalidate=600" : "max-age=600", .eTag: "\"1\"",
                ],
                body: Data(isFirst ? "hello".utf8 : "".utf8))
        }
        let fleet = try fleet()
        let url = server.url("/a")
        _ = try await fleet[0].get(url)
        let answers = try await getAll(fleet, url)
        #expect(answers.allSatisfy { $0.text == "hello" && $0.status.hasPrefix("trellis; hit") })
        // The validation has ended when a response is fresh.
        while try await !fleet[1].get(url).status.hasPrefix("trellis; hit; ttl=600") { try Task.checkCancellation() }
        #expect(server.requests.count == 2)
        await end(fleet)
    }

    /// A change by one of them is seen by all.
    @Test func anUnsafeRequestInvalidatesForAll() async throws {
        let changes = Locked(0)
        let server = try LoopbackServer.http { request in
            if request.method == "POST" { changes.withLock { $0 += 1 } }
            let text = "\(changes.withLock { $0 })"
            return .init(headers: [.cacheControl: "max-age=600"], body: Data(text.utf8))
        }
        let fleet = try fleet()
        let url = server.url("/a")
        #expect(try await getAll(fleet, url).allSatisfy { $0.text == "0" })
        _ = try await fleet[3].get(url, .post)
        #expect(try await getAll(fleet, url).allSatisfy { $0.text == "1" })
        #expect(server.requests.count == 3)
        await end(fleet)
    }

    /// The one that asks the origin may be killed: the others wait for it no longer than its lease lasts.
    @Test func theTurnOfAProcessThatIsGoneEnds() async throws {
        let server = try LoopbackServer.http { _ in
            .init(headers: [.cacheControl: "max-age=600"], body: Data("hello".utf8))
        }
        let (gone, member) = (try member(lease: .milliseconds(300)), try member())
        let url = server.url("/a")
        let key = CacheKey(url: url)
        let storage = try #require(gone.cache.storage as? RedisCacheStorage)
        guard case .ours = try await storage.turn(for: key, variant: nil) else {
            Issue.record("nobody else has the turn")
            return
        }
        #expect(try await member.get(url).text == "hello")
        #expect(server.requests.count == 1)
        await end([gone, member])
    }

    /// A turn that has passed to another process is not given back by its last owner.
    @Test func aTurnIsGivenBackByItsOwnerAlone() async throws {
        let (one, other) = (try member(), try member())
        let lease = RedisLease { _ in "\(prefix):lease" }, second = RedisLease { _ in "\(prefix):lease" }
        let taken = try await one.server.values(nil) { [lease.take(for: .seconds(60), $0)] }
        #expect(taken == [.status("OK")])
        #expect(try await other.server.values(nil) { [second.take(for: .seconds(60), $0)] } == [.nothing])
        second.giveBack(to: other.server.connection)
        let get = RedisCommand("GET", [.text("\(prefix):lease")])
        #expect(try await other.server.values(nil) { _ in [get] } == [.bytes(Data(lease.token.utf8))])
        lease.giveBack(to: one.server.connection)
        #expect(try await one.server.values(nil) { _ in [get] } == [.nothing])
        await end([one, other])
    }
}
#endif
