#if Redis
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisRedis

/// Debian's redis-server.
final class RedisPeer: Sendable {
    /// The ways to the server.
    enum Way: CaseIterable {
        case port, tls, socket
    }

    /// The server of the suites that do not stop it.
    static let shared = Task { try await RedisPeer() }

    let peer: Peer

    /// Starts a server.
    init() async throws { peer = try await Peer.startedOnce("redis_server.py", []) }

    /// Returns the address of the server, which asks for a password.
    func address(_ way: Way) throws -> String {
        switch way {
        case .port: "redis://127.0.0.1:\(try #require(peer.announcement.ports["redis"]))"
        case .tls: "rediss://localhost:\(try #require(peer.announcement.ports["redis-tls"]))"
        case .socket: "unix:\(URL(filePath: peer.announcement.ca).deletingLastPathComponent().path)/redis.sock"
        }
    }

    /// Returns the access to the server, under names of its own.
    ///
    /// - Parameter clock: The clock of the limits; the system's if `nil`.
    func server(
        _ way: Way = .socket, clock: TestClock? = nil, _ change: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisServer {
        var configuration = RedisConfiguration(password: "s3cret")
        configuration.prefix = UUID().uuidString
        configuration.tls.authorities = .only([.file(peer.announcement.ca)])
        // A machine that is busy is not what these tests are about.
        configuration.patience = .seconds(20)
        change(&configuration)
        guard let clock else { return try RedisServer(address(way), configuration) }
        return try RedisServer(address(way), configuration, clock: clock.engineSide)
    }

    /// Makes the server do something (`redis_server.py`).
    func tell(_ command: String) async throws {
        let answer = try await peer.answer([String: Bool].self, to: command)
        #expect(answer == ["done": true])
    }
}

extension RedisCacheStorage {
    /// Returns a storage as a cache of many users, or of one, has it.
    static func made(
        _ server: RedisServer, isShared: Bool = true, maximumBodySize: Int64 = 1 << 20, keys: [RedisKey] = []
    ) throws -> RedisCacheStorage {
        let storage = RedisCacheStorage(server, maximumBodySize: maximumBodySize, keys: keys)
        let policy = CachePolicy(sharing: isShared ? .shared : .private)
        return try #require(storage.bound(to: policy) as? RedisCacheStorage)
    }

    /// Stores a response.
    func store(
        _ body: Data, for key: CacheKey, _ fields: HTTPFields = [.cacheControl: "max-age=600"],
        request: HTTPFields = [:]
    ) async throws {
        let now = Date()
        let head = CachedHead(
            status: .ok, headers: fields, requestHeaders: request, requestDate: now, responseDate: now)
        let writer = try await makeWriter(for: key, head, length: nil)
        var rest = body
        while !rest.isEmpty {
            try await writer.write(Data(rest.prefix(50_000)))
            rest = Data(rest.dropFirst(50_000))
        }
        try await writer.commit()
    }

    /// Returns the bodies of a key's entries.
    func bodies(_ key: CacheKey) async throws -> [Data] {
        var bodies: [Data] = []
        for entry in try await entries(for: key) {
            bodies.append(try await entry.body.bytes(in: 0..<entry.body.length))
        }
        return bodies
    }
}
#endif
