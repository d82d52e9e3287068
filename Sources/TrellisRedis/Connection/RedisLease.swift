#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCore

/// A lease: a name that one process has for a short time, and that nobody else gets meanwhile. Only its owner gives it back.
struct RedisLease: Sendable {
    /// Removes a lease, if it is the caller's.
    ///
    /// - `KEYS`: the lease.
    /// - `ARGV`: the token.
    static let giveBack = RedisScript(
        text: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
    /// Prolongs a lease, if it is the caller's.
    ///
    /// - `KEYS`: the lease.
    /// - `ARGV`: the token, the time in milliseconds.
    static let renew = RedisScript(
        text:
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0")
    /// The time for the reply to a lease that is given back, for which nobody waits.
    private static let limit = Duration.seconds(1)

    /// The text that only this owner knows.
    let token: String
    /// Returns the name, for a run of the server.
    let name: @Sendable (_ run: String) -> String

    init(_ name: @escaping @Sendable (_ run: String) -> String) {
        var random = SecureRandom()
        (token, self.name) = (Hexadecimal.text(random.bytes(16)), name)
    }

    /// Returns the command that takes the lease for a time, unless somebody has it.
    func take(for time: Duration, _ run: String) -> RedisCommand {
        RedisCommand(
            "SET", [.text(name(run)), .text(token), .text("NX"), .text("PX"), .number(max(time.milliseconds, 1))])
    }

    /// Returns the command that prolongs the lease, if it is still this one's.
    func renew(for time: Duration, _ run: String) -> RedisCommand {
        RedisCommand(Self.renew, keys: [name(run)], [.text(token), .number(max(time.milliseconds, 1))])
    }

    /// Gives the lease back, if it is still this one's.
    func giveBack(to connection: RedisConnection) {
        connection.begin(within: Self.limit) { run in
            [RedisCommand(Self.giveBack, keys: [name(run)], [.text(token)])]
        }
    }
}
#endif
