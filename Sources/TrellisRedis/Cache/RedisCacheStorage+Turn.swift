#if Redis
import CurlEngine
import FoundationEssentials
package import TrellisCaching
import TrellisCore

/// One request for all processes: the one that has the lease asks the origin.
extension RedisCacheStorage {
    private func name(of key: CacheKey, _ variant: String?) -> (@Sendable (_ run: String) -> String)? {
        // No variant's text is empty.
        guard let digest = digest(of: key), let name = RedisCacheNames.digest(ofVariant: variant ?? "") else {
            return nil
        }
        return { [self] run in names(run).turn(digest, name) }
    }

    package func turn(for key: CacheKey, variant: String?) async throws -> SharedTurn {
        guard let name = name(of: key, variant) else { throw RedisFailure.noKey }
        let (lease, server) = (RedisLease(name), server)
        let replies: [RedisValue]
        do {
            replies = try await server.values(StorageVisit.current) {
                [lease.take(for: server.configuration.lease, $0)]
            }
        } catch {
            // The command may be executed later.
            lease.giveBack(to: server.connection)
            throw error
        }
        guard case .status? = replies.first else { return .others }
        return .ours { lease.giveBack(to: server.connection) }
    }

    package func isTurnTaken(for key: CacheKey, variant: String?) async throws -> Bool {
        guard let name = name(of: key, variant) else { throw RedisFailure.noKey }
        let replies = try await server.values(StorageVisit.current) { [RedisCommand("EXISTS", [.text(name($0))])] }
        return replies.first?.number == 1
    }
}
#endif
