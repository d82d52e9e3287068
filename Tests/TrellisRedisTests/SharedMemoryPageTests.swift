#if Redis
import FoundationEssentials
import Testing
import TrellisCaching
import TrellisOAuth
import TrellisRedis

/// The code of the page "Shared memory". Nothing is sent.
struct SharedMemoryPageTests {
    private let password = "s3cret"
    private let secret = [UInt8](repeating: 1, count: 32)

    @Test func aCacheOfAFleet() async throws {
        var configuration = SessionConfiguration()
        let redis = try RedisServer("rediss://cache.internal:6380", RedisConfiguration(password: password))
        let storage = RedisCacheStorage(redis)
        configuration.cache = HTTPCache(storage: storage, policy: CachePolicy(sharing: .shared))
        let session = Session(configuration: configuration)
        // At the end of the process, after the last request:
        await session.shutdown()
        await redis.shutdown()
        #expect(redis.address == "rediss://cache.internal:6380")
    }

    @Test func settings() throws {
        var settings = RedisConfiguration(username: "fetcher", password: password)
        settings.tls.authorities = .only([.file("/etc/fetcher/ca.pem")])
        settings.patience = .milliseconds(20)
        let redis = try RedisServer("rediss://cache.internal:6380/2", settings)
        #expect(redis.configuration.patience == .milliseconds(20))
    }

    @Test func oneUsersResponses() throws {
        var configuration = SessionConfiguration()
        let redis = try RedisServer("unix:/run/redis/redis.sock")
        let key = try RedisKey(secret, name: "2026-11")
        configuration.cache = HTTPCache(storage: RedisCacheStorage(redis, keys: [key]))
        #expect(key.name == "2026-11")
    }

    @Test func tokens() throws {
        let redis = try RedisServer("unix:/run/redis/redis.sock")
        let key = try RedisKey(secret, name: "2026-11")
        var oauth = try OAuthAuthenticator(
            .issuer("https://id.example.com"), client: OAuthClient(id: "reports", secret: password),
            grant: .clientCredentials, origin: "https://api.example.com")
        oauth.store = RedisTokenStore(redis, for: "reports at id.example.com", keys: [key])
        #expect(oauth.store is RedisTokenStore)
    }
}
#endif
