#if Redis
import CurlEngine
import FoundationEssentials
public import TrellisCaching
import TrellisCore

/// Responses on a server of Redis or Valkey, which the processes of a fleet share: what one has fetched, all have.
///
/// ```swift
/// let redis = try RedisServer("rediss://cache.internal:6380", RedisConfiguration(password: password))
/// configuration.cache = HTTPCache(storage: RedisCacheStorage(redis), policy: CachePolicy(sharing: .shared))
/// ```
///
/// The server removes what is of no more use, and what it has no memory for by its own policy (`maxmemory-policy`). An invalidation reaches
/// all processes at once, also the responses that are on their way to the storage. A response that is not whole is not used. If the server
/// does not answer in ``RedisConfiguration/patience``, the request is sent as without a cache. The article "Shared memory" of the module
/// `Trellis` has the rules.
///
/// The cache of one user (``/Trellis/CachePolicy/Sharing/private``) stores nothing without a ``RedisKey``: its responses are encrypted.
public final class RedisCacheStorage: CacheStorage {
    /// The error of a response that is not stored, because its body is larger than the storage takes, because it is of no use for the
    /// next request, or because it has been invalidated meanwhile.
    public struct Refusal: CacheRefusal, Sendable {}

    /// The largest number of variants of a key.
    static let maximumVariantCount: Int64 = 32
    /// The time for which pieces stay whose entry is not complete, in milliseconds.
    static let pieceLifetime: Int64 = 60_000

    /// The server.
    public let server: RedisServer
    /// The largest number of bytes of one body. 1 MiB unless given.
    public let maximumBodySize: Int64
    /// The time for which a response that can be validated is kept after its freshness. An hour unless given.
    public let validationTime: Duration
    let vault: RedisVault?
    /// The policy of the cache that uses the storage; `nil` if no cache does.
    let policy: CachePolicy?

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - maximumBodySize: The largest number of bytes of one body; 1 MiB by default. A larger one takes more of the time that a request
    ///     waits for the server (``RedisConfiguration/patience``).
    ///   - validationTime: The time for which a response that can be validated is kept after its freshness; an hour by default.
    ///   - keys: The keys that encrypt what belongs to one user. The first one encrypts, and each of them decrypts. None by default.
    public convenience init(
        _ server: RedisServer, maximumBodySize: Int64 = 1 << 20, validationTime: Duration = .seconds(3600),
        keys: [RedisKey] = []
    ) {
        self.init(
            server, maximumBodySize: maximumBodySize, validationTime: validationTime, vault: RedisVault(keys),
            policy: nil)
    }

    private init(
        _ server: RedisServer, maximumBodySize: Int64, validationTime: Duration, vault: RedisVault?,
        policy: CachePolicy?
    ) {
        (self.server, self.vault, self.policy) = (server, vault, policy)
        (self.maximumBodySize, self.validationTime) = (max(maximumBodySize, 0), max(validationTime, .zero))
    }

    // MARK: Entries

    /// Returns all entries of a key, which counts as their use.
    ///
    /// - Throws: ``RedisFailure``; `CancellationError` in a cancelled task.
    public func entries(for key: CacheKey) async throws -> [CacheEntry] {
        guard let digest = digest(of: key) else { return [] }
        let visit = StorageVisit.current ?? StorageVisit()
        let replies = try await server.values(visit) { [self] run in
            let names = names(run)
            return [
                RedisCommand("GET", [.text(names.count)]), RedisCommand("HGETALL", [.text(names.heads(digest))]),
            ]
        }
        guard replies.count == 2, let fields = replies[1].elements else { throw RedisFailure.malformed }
        visit.note(replies[0].number ?? 0)
        return stride(from: 0, to: fields.count - 1, by: 2).compactMap { index in
            guard let variant = fields[index].data, let value = fields[index + 1].data else { return nil }
            return entry(value, of: key, digest, variant: String(decoding: variant, as: UTF8.self), for: visit)
        }
    }

    /// Begins an entry.
    ///
    /// - Throws: ``Refusal``; ``RedisFailure/noKey`` for a response of one user's without a key; ``RedisFailure/unavailable`` if the server
    ///   has not said, before the request was sent, what was invalidated up to then.
    public func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) async throws -> any CacheWriter {
        if let length, length > maximumBodySize { throw Refusal() }
        guard !isPrivate(head) || vault != nil, let digest = digest(of: key) else { throw RedisFailure.noKey }
        let lifetime = lifetime(of: head)
        guard lifetime > 0 else { throw Refusal() }
        let visit = StorageVisit.current ?? StorageVisit()
        if visit.mark == nil, StorageVisit.current == nil { try await note(in: visit) }
        guard let mark = visit.mark else { throw RedisFailure.unavailable }
        return RedisCacheWriter(
            CacheFileHead(key, head), digest: digest, lifetime: lifetime, mark: mark, visit: visit, in: self)
    }

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    ///
    /// - Throws: ``RedisFailure``; the entry keeps its head.
    public func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async throws {
        guard !isPrivate(head) || vault != nil, let digest = digest(of: key), let body = entry.body as? RedisCachedBody
        else { throw RedisFailure.noKey }
        var record = body.record
        record.names = CacheFileHead(key, head)
        guard let old = RedisCacheNames.digest(ofVariant: entry.head.variant),
            let new = RedisCacheNames.digest(ofVariant: head.variant)
        else { throw RedisFailure.unavailable }
        let (id, lifetime, changed) = (entry.id, max(lifetime(of: head), 1), record)
        let sealed = try value(changed, id: id, digest, variant: new)
        _ = try await server.values(StorageVisit.current) { [self] run in
            let names = names(run)
            return [
                RedisCommand(
                    RedisCacheScript.update, keys: [names.heads(digest), names.bodies(digest) + id],
                    [.text(old), .text(id), .text(new), .bytes(sealed), .number(lifetime)])
            ]
        }
    }

    /// Removes an entry, unless the entry has been removed or replaced.
    ///
    /// - Throws: ``RedisFailure``.
    public func remove(_ entry: CacheEntry, for key: CacheKey) async throws {
        guard let digest = digest(of: key),
            let variant = RedisCacheNames.digest(ofVariant: entry.head.variant)
        else { return }
        let id = entry.id
        _ = try await server.values(StorageVisit.current) { [self] run in
            let names = names(run)
            return [
                RedisCommand(
                    RedisCacheScript.remove, keys: [names.heads(digest), names.bodies(digest) + id],
                    [.text(variant), .text(id), .number(RedisCacheScript.bodyGrace)])
            ]
        }
    }

    /// Removes all entries of a key, for all processes. What they have fetched before is not stored afterwards.
    ///
    /// - Throws: ``RedisFailure``.
    public func removeEntries(for key: CacheKey) async throws {
        let digests = digests(of: key)
        guard !digests.isEmpty else { return }
        _ = try await server.values(StorageVisit.current) { [self] run in
            let names = names(run)
            return digests.map { digest in
                RedisCommand(
                    RedisCacheScript.invalidate,
                    keys: [names.heads(digest), names.count, names.invalidation(digest)],
                    [
                        .text(names.bodies(digest)), .number(RedisCacheScript.bodyGrace),
                        .number(RedisCacheScript.invalidationLifetime),
                    ])
            }
        }
    }

    // MARK: What is stored how

    /// Whether a response belongs to one user.
    func isPrivate(_ head: CachedHead) -> Bool { policy?.sharing != .shared || head.saysPrivate }

    /// The names for a run of the server.
    func names(_ run: String) -> RedisCacheNames {
        RedisCacheNames(prefix: server.configuration.prefix, isShared: policy?.sharing == .shared, run: run)
    }

    /// Returns the digest of a key in names; `nil` if nothing can be stored.
    func digest(of key: CacheKey) -> String? { digests(of: key).first }

    /// Returns the digests of a key in the names of this process, and of those that have other keys first.
    private func digests(of key: CacheKey) -> [String] {
        guard policy?.sharing != .shared else { return RedisCacheNames.digest(of: key).map { [$0] } ?? [] }
        guard let vault, let digest = RedisCacheNames.digest(of: key) else { return [] }
        return vault.names(of: digest)
    }

    /// Returns the time for which an entry is kept, in milliseconds.
    func lifetime(of head: CachedHead) -> Int64 {
        let useful = head.useful(under: policy ?? CachePolicy(), validation: validationTime)
        return min(useful, Self.longestLifetime).milliseconds
    }

    private static let longestLifetime = Duration.seconds(400 * 86_400)

    /// Notes what was invalidated up to now, for a request that has looked at no entries.
    func note(in visit: StorageVisit) async throws {
        let replies = try await server.values(visit) { [self] run in
            [RedisCommand("GET", [.text(names(run).count)])]
        }
        visit.note(replies.first?.number ?? 0)
    }

    // MARK: Values

    /// Returns the value of an entry on the server: its name, whether it is encrypted, and its record.
    func value(
        _ record: RedisCacheRecord, id: String, _ digest: String, variant: String
    ) throws(RedisFailure) -> Data {
        var data = Data(id.utf8)
        guard isPrivate(record.names.head) else {
            data.append(0)
            data.append(record.encoded)
            return data
        }
        guard let vault else { throw .noKey }
        data.append(1)
        data.append(try vault.seal(record.encoded, for: "\(digest):\(variant):\(id)"))
        return data
    }

    /// Returns the entry with a value; `nil` if that is damaged, or of another key.
    private func entry(
        _ value: Data, of key: CacheKey, _ digest: String, variant: String, for visit: StorageVisit
    ) -> CacheEntry? {
        guard let (id, record) = record(value, digest, variant: variant),
            record.names.key.url.hasSameBytes(as: key.url), record.names.key.partition.hasSameBytes(as: key.partition)
        else { return nil }
        let body = RedisCachedBody(record, id: id, digest: digest, visit: visit, in: self)
        return CacheEntry(id: id, head: record.names.head, body: body)
    }

    /// Returns the name of an entry and its record; `nil` if the value is damaged.
    func record(_ value: Data, _ digest: String, variant: String) -> (id: String, record: RedisCacheRecord)? {
        guard value.count > 33 else { return nil }
        let id = String(decoding: value.prefix(32), as: UTF8.self)
        var data = Data(value.dropFirst(33))
        let isSealed = value[value.startIndex + 32] == 1
        if isSealed {
            guard let opened = try? vault?.open(data, for: "\(digest):\(variant):\(id)") else { return nil }
            data = opened
        }
        guard let record = RedisCacheRecord(data), isSealed || !isPrivate(record.names.head) else { return nil }
        return (id, record)
    }
}

extension RedisCacheStorage: SharedCacheStorage {
    package func bound(to policy: CachePolicy) -> any SharedCacheStorage {
        RedisCacheStorage(
            server, maximumBodySize: maximumBodySize, validationTime: validationTime, vault: vault, policy: policy)
    }

    package func beginVisit(for key: CacheKey) async throws {
        guard let visit = StorageVisit.current, digest(of: key) != nil else { return }
        try await note(in: visit)
    }
}

extension Duration {
    /// The whole milliseconds.
    var milliseconds: Int64 { Int64(clamping: clampedNanoseconds / 1_000_000) }
}
#endif
