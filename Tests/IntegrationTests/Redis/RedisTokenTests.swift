#if Redis
import CurlEngine
import Foundation
import Testing
import TrellisOAuth
import TrellisTesting

@testable import TrellisRedis

/// A token on Debian's redis-server, which several processes share.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("redis-server"))
struct RedisTokenTests {
    private let peer: RedisPeer
    private let prefix = UUID().uuidString
    private let key: RedisKey

    init() async throws {
        peer = try await RedisPeer.shared.value
        key = try RedisKey([UInt8](repeating: 1, count: 32), name: "a")
    }

    private func server() throws -> RedisServer {
        try peer.server {
            $0.prefix = prefix
            $0.lease = .seconds(600)
        }
    }

    private func store(_ keys: [RedisKey]? = nil) throws -> RedisTokenStore {
        RedisTokenStore(try server(), for: "reports", keys: keys ?? [key])
    }

    private static let token = OAuthToken(
        "s3cret", expiration: Date(timeIntervalSince1970: 4_000_000_000), refreshToken: "r3fresh", scope: "a b",
        issuer: "https://id.example.com")

    @Test func aTokenIsReadByAll() async throws {
        let (one, other) = (try store(), try store())
        #expect(try await other.token() == nil)
        try await one.update { $0 = Self.token }
        #expect(try await other.token() == Self.token)
        let elsewhere = RedisTokenStore(one.server, for: "others", keys: [key])
        #expect(try await elsewhere.token() == nil)
        try await other.update { stored in
            #expect(stored == Self.token)
            stored = nil
        }
        #expect(try await one.token() == nil)
    }

    @Test func theServerKeepsNothingThatCanBeRead() async throws {
        let store = try store()
        try await store.update { $0 = Self.token }
        let names = try await store.server.values(nil) { _ in [RedisCommand("KEYS", [.text("\(prefix)*")])] }
        let name = try #require(names.first?.elements?.first?.data)
        let values = try await store.server.values(nil) { _ in [RedisCommand("GET", [.bytes(name)])] }
        let value = try #require(values.first?.data)
        for secret in ["s3cret", "r3fresh", "example"] {
            #expect(value.firstRange(of: Data(secret.utf8)) == nil && name.firstRange(of: Data(secret.utf8)) == nil)
        }
        let other = try RedisKey([UInt8](repeating: 2, count: 32), name: "b")
        #expect(try await self.store([other]).token() == nil)
        #expect(try await self.store([other, key]).token() == Self.token)
        // Without a key, nothing is stored.
        let without = RedisTokenStore(try server(), for: "mine", keys: [])
        try await without.update { $0 = Self.token }
        #expect(try await without.token() == nil)
    }

    /// Ten processes need a token at once: one asks, and the others find what it has got.
    @Test func tenChangesAreOneRequest() async throws {
        let stores = try (0..<10).map { _ in try store() }
        let (requests, atOnce) = (Locked(0), Locked(0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    try await store.update { token in
                        let count = atOnce.withLock { count in
                            count += 1
                            return count
                        }
                        #expect(count == 1)
                        if token == nil {
                            requests.withLock { $0 += 1 }
                            token = Self.token
                        }
                        atOnce.withLock { $0 -= 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(requests.withLock { $0 } == 1)
    }

    /// What a change has got is stored, also if it fails afterwards.
    @Test func aChangeThatFailsIsStored() async throws {
        struct Failure: Error {}
        let store = try store()
        await #expect(throws: Failure.self) {
            try await store.update { token in
                token = Self.token
                throw Failure()
            }
        }
        #expect(try await store.token() == Self.token)
    }

    /// A server that is away is told, after the change was made without it.
    @Test func aServerThatIsAwayIsNoReasonToFail() async throws {
        let server = try RedisServer("unix:/nowhere/redis.sock")
        let store = RedisTokenStore(server, for: "reports", keys: [key])
        #expect(try await store.token() == nil)
        let changes = Locked(0)
        await #expect(throws: RedisFailure.self) {
            try await store.update { token in
                #expect(token == nil)
                changes.withLock { $0 += 1 }
            }
        }
        #expect(changes.withLock { $0 } == 1)
        await server.shutdown()
    }
}
#endif
