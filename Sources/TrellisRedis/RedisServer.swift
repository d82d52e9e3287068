#if Redis
import CurlEngine
import TrellisCaching
import TrellisCore

/// A server of Redis or Valkey, through which the processes of a fleet share what they know.
///
/// ```swift
/// let redis = try RedisServer("rediss://cache.internal:6380", RedisConfiguration(password: password))
/// configuration.cache = HTTPCache(storage: RedisCacheStorage(redis), policy: CachePolicy(sharing: .shared))
/// // At the end of the process, after the last request:
/// await redis.shutdown()
/// ```
///
/// The first use makes one connection, on a thread of its own. A request waits for the server for at most
/// ``RedisConfiguration/patience`` in all, and goes on without it then. After a failure the server is not asked for a while, and a lost
/// connection is made anew in the background. The article "Shared memory" of the module `Trellis` has the rules.
public final class RedisServer: Sendable {
    /// The settings.
    public let configuration: RedisConfiguration
    /// The address without its secrets.
    public let address: String
    let connection: RedisConnection

    /// Creates the access to a server. Nothing is sent before the first use.
    ///
    /// - Parameters:
    ///   - address: The address: `redis://host:6379/0`, `rediss://host:6380` with TLS, or `unix:/run/redis/redis.sock`. The port is 6379
    ///     and the database 0 unless given. A user and a password may stand before the host, as in other URLs.
    ///   - configuration: The settings.
    /// - Throws: ``RedisFailure/malformedAddress(reason:)``.
    public convenience init(
        _ address: String, _ configuration: RedisConfiguration = RedisConfiguration()
    ) throws(RedisFailure) {
        try self.init(address, configuration, clock: MonotonicClock.system)
    }

    /// Creates the access to a server whose limits in time follow a clock, for tests.
    init(
        _ address: String, _ configuration: RedisConfiguration, clock: any EngineClock
    ) throws(RedisFailure) {
        let parsed = try RedisAddress(parsing: address)
        (self.configuration, self.address) = (configuration, parsed.text)
        connection = RedisConnection(parsed, configuration, clock: clock)
    }

    deinit { connection.stop() }

    /// Ends the connection and its thread. Requests go on without the server.
    public func shutdown() async {
        await withContinuation { continuation in connection.stop { continuation.resume() } }
    }

    /// Sends commands, and returns their replies, of which none is an error.
    ///
    /// - Parameters:
    ///   - visit: The visit of the request that waits; `nil` if the limit is for these commands alone.
    ///   - commands: Returns the commands for a run of the server.
    /// - Throws: ``RedisFailure``; `CancellationError` in a cancelled task, at once.
    func values(
        _ visit: StorageVisit?, _ commands: @escaping @Sendable (_ run: String) -> [RedisCommand]
    ) async throws -> [RedisValue] {
        let start = connection.executor.latest
        let rest = configuration.patience - (visit?.waited ?? .zero)
        guard rest > .zero else { throw RedisFailure.late }
        defer { visit?.add(.nanoseconds(connection.executor.latest.nanoseconds(since: start))) }
        let replies = try await connection.replies(within: rest, commands)
        for reply in replies { _ = try reply.checked() }
        return replies
    }
}

extension RedisServer: CustomStringConvertible {
    /// The address without its secrets.
    public var description: String { address }
}
#endif
