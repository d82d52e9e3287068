#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCore
public import TrellisOAuth

/// A token on a server of Redis or Valkey, for the processes of a fleet: one of them asks the authorization server, and all have its token.
///
/// ```swift
/// oauth.store = RedisTokenStore(redis, for: "reports at id.example.com", keys: [key])
/// ```
///
/// The token is encrypted (``RedisKey``). Without a key, it is not stored, and each process asks for its own. While a process asks, it has
/// a lease (``RedisConfiguration/lease``), which it renews; the others wait for its token. If the server does not answer in
/// ``RedisConfiguration/patience``, or has a token that cannot be read, the process goes on as without a store.
public struct RedisTokenStore: OAuthTokenStore {
    /// The pauses between two attempts to get the lease.
    private static let pauses = (shortest: Duration.milliseconds(20), longest: Duration.milliseconds(320))

    /// Stores or removes the token, if the lease is the caller's.
    ///
    /// - `KEYS`: the lease, the token.
    /// - `ARGV`: the lease's token, the token or an empty text, its time to live in milliseconds; 0 for no end.
    static let store = RedisScript(
        text: """
            if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
            if ARGV[2] == '' then
              redis.call('DEL', KEYS[2])
            elseif tonumber(ARGV[3]) > 0 then
              redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
            else
              redis.call('SET', KEYS[2], ARGV[2])
            end
            return 1
            """)

    /// The server.
    public let server: RedisServer
    /// The name of what the token is for, such as a client and its server. The processes that share it use the same name.
    public let purpose: String
    private let vault: RedisVault?

    /// Creates the access to a token.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - purpose: The name of what the token is for.
    ///   - keys: The keys. The first one encrypts, and each of them decrypts.
    public init(_ server: RedisServer, for purpose: String, keys: [RedisKey]) {
        (self.server, self.purpose, vault) = (server, purpose, RedisVault(keys))
    }

    /// The name of the token; `nil` if there is no digest in this process. A token outlives the runs of the server.
    private var name: String? {
        RedisCacheNames.digest(ofVariant: purpose).map { "\(server.configuration.prefix):token:\($0)" }
    }

    /// Returns the token that is stored, if any; `nil` too if the server does not answer.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    public func token() async throws -> OAuthToken? {
        do { return try await stored() } catch let error as CancellationError { throw error } catch { return nil }
    }

    /// Changes the token while this process has the lease. Without an answer of the server, only this process has the changed token.
    ///
    /// - Throws: The error of `change`; ``RedisFailure`` if the token could not be stored; `CancellationError` in a cancelled task.
    public func update(_ change: @Sendable (inout OAuthToken?) async throws -> Void) async throws {
        guard let name, vault != nil else {
            var token: OAuthToken?
            return try await change(&token)
        }
        let lease = RedisLease { _ in name + ":lease" }
        defer { lease.giveBack(to: server.connection) }
        let old: OAuthToken?
        do {
            try await take(lease)
            old = try? await stored()
        } catch let error as CancellationError { throw error } catch {
            var token: OAuthToken?
            try await change(&token)
            throw error
        }
        let renewal = Task { await renew(lease) }
        defer { renewal.cancel() }
        var token = old
        do { try await change(&token) } catch {
            if token != old { try? await store(token, under: lease, at: name) }
            throw error
        }
        if token != old { try await store(token, under: lease, at: name) }
    }

    // MARK: The lease

    /// Waits for the lease, as long as another process asks.
    private func take(_ lease: RedisLease) async throws {
        var pause = Self.pauses.shortest
        while true {
            let replies = try await server.values(nil) { [lease.take(for: server.configuration.lease, $0)] }
            if case .status? = replies.first { return }
            guard try await server.connection.executor.delay(for: pause * Double.random(in: 0.5...1)) else {
                throw RedisFailure.unavailable
            }
            pause = min(pause * 2, Self.pauses.longest)
        }
    }

    private func renew(_ lease: RedisLease) async {
        let time = server.configuration.lease
        while (try? await server.connection.executor.delay(for: time / 3)) == true {
            _ = try? await server.values(nil) { [lease.renew(for: time, $0)] }
        }
    }

    // MARK: The token

    private func stored() async throws -> OAuthToken? {
        guard let name, let vault else { return nil }
        let replies = try await server.values(nil) { _ in [RedisCommand("GET", [.text(name)])] }
        guard let data = replies.first?.data else { return nil }
        let record = try? JSONDecoder().decode(RedisToken.self, from: vault.open(data, for: name))
        return record?.token
    }

    private func store(_ token: OAuthToken?, under lease: RedisLease, at name: String) async throws {
        guard let vault else { throw RedisFailure.noKey }
        let sealed = try token.map { try vault.seal(JSONEncoder().encode(RedisToken($0)), for: name) } ?? Data()
        // A token that cannot be renewed is of no use after its end.
        let end = token?.refreshToken == nil ? token?.expiration : nil
        let rest = end.map { Int64(min(max($0.timeIntervalSinceNow, 0.001), 1e9) * 1000) } ?? 0
        let replies = try await server.values(nil) { run in
            [
                RedisCommand(
                    Self.store, keys: [lease.name(run), name],
                    [.text(lease.token), .bytes(sealed), .number(rest)])
            ]
        }
        guard replies.first?.number == 1 else { throw RedisFailure.late }
    }
}

/// A token as the server keeps it, before it is encrypted.
private struct RedisToken: Codable {
    let accessToken: String
    let expiration: Double?
    let refreshToken: String?
    let scope: String?
    let issuer: String?

    init(_ token: OAuthToken) {
        (accessToken, refreshToken) = (token.accessToken, token.refreshToken)
        (scope, issuer) = (token.scope, token.issuer)
        expiration = token.expiration?.timeIntervalSince1970
    }

    var token: OAuthToken {
        OAuthToken(
            accessToken, expiration: expiration.map { Date(timeIntervalSince1970: $0) }, refreshToken: refreshToken,
            scope: scope, issuer: issuer)
    }
}
#endif
