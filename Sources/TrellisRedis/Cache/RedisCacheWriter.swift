#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCaching
import TrellisCore

/// The writer of an entry. A small body is sent with its head; a larger one in pieces, while it is received. The caller waits for the
/// server only at the end.
final class RedisCacheWriter: CacheWriter {
    /// The time for the replies to pieces, for which nobody waits.
    private static let limit = Duration.seconds(1)

    private struct State {
        /// The bytes that are no complete piece yet.
        var rest = Data()
        var length: Int64 = 0
        var checksums: [UInt64] = []
        /// The reason why a piece was not stored.
        var failure: RedisFailure?
        /// Whether nothing more is written.
        var hasEnded = false
    }

    private let names: CacheFileHead
    /// The digest of the key.
    private let digest: String
    /// The name of the entry.
    private let id: String
    /// The time for which the entry is kept, in milliseconds.
    private let lifetime: Int64
    /// The number of the last invalidation before the request was sent.
    private let mark: Int64
    private let visit: StorageVisit
    private let storage: RedisCacheStorage
    private let state = Locked(State())
    private let start: EngineInstant

    init(
        _ names: CacheFileHead, digest: String, lifetime: Int64, mark: Int64, visit: StorageVisit,
        in storage: RedisCacheStorage
    ) {
        (self.names, self.digest, self.lifetime, self.mark) = (names, digest, lifetime, mark)
        (self.visit, self.storage) = (visit, storage)
        var random = SecureRandom()
        id = Hexadecimal.text(random.bytes(16))
        start = storage.server.connection.executor.latest
    }

    deinit { drop() }

    private var connection: RedisConnection { storage.server.connection }

    func write(_ bytes: Data) async throws {
        let isTooLarge = state.withLock { state in
            state.length += Int64(bytes.count)
            state.rest.append(bytes)
            return state.length > storage.maximumBodySize
        }
        guard !isTooLarge else { throw RedisCacheStorage.Refusal() }
        // A body that is small enough for the record may end here.
        while let piece = try nextPiece(isLast: false) { try send(piece) }
    }

    func commit() async throws {
        guard elapsed < .milliseconds(RedisCacheScript.invalidationLifetime) else { throw RedisCacheStorage.Refusal() }
        let isInline = state.withLock { state in
            state.checksums.isEmpty && state.length <= Int64(RedisCacheRecord.largestInline)
        }
        if !isInline { while let piece = try nextPiece(isLast: true) { try send(piece) } }
        let (length, checksums, rest) = state.withLock { ($0.length, $0.checksums, $0.rest) }
        let record = RedisCacheRecord(names, length: length, inline: isInline ? rest : nil, pieces: checksums)
        guard let variant = RedisCacheNames.digest(ofVariant: names.variant) else { throw RedisFailure.unavailable }
        let value = try storage.value(record, id: id, digest, variant: variant)
        let (storage, digest, id, mark, lifetime) = (storage, digest, id, mark, lifetime)
        let replies = try await storage.server.values(visit) { run in
            let names = storage.names(run)
            return [
                RedisCommand(
                    RedisCacheScript.commit,
                    keys: [names.heads(digest), names.bodies(digest) + id, names.invalidation(digest), names.all],
                    [
                        .number(mark), .text(variant), .bytes(value), .number(lifetime),
                        .number(Int64(checksums.count)), .number(RedisCacheStorage.maximumVariantCount),
                        .text(names.bodies(digest)), .number(RedisCacheScript.bodyGrace),
                    ])
            ]
        }
        state.withLock { $0.hasEnded = true }
        guard replies.first?.number == 1 else { throw RedisCacheStorage.Refusal() }
    }

    func discard() async { drop() }

    private var elapsed: Duration { .nanoseconds(connection.executor.latest.nanoseconds(since: start)) }

    /// Removes the pieces that were sent. Nobody waits for that, and the server removes them itself after a while.
    private func drop() {
        let mustRemove = state.withLock { state in
            defer { state.hasEnded = true }
            state.rest = Data()
            return !state.hasEnded && !state.checksums.isEmpty
        }
        guard mustRemove else { return }
        let (storage, digest, id) = (storage, digest, id)
        connection.begin(within: Self.limit) { run in
            [RedisCommand("UNLINK", [.text(storage.names(run).bodies(digest) + id)])]
        }
    }

    // MARK: Pieces

    private struct Piece: Sendable {
        let index: Int
        let bytes: Data
    }

    private func nextPiece(isLast: Bool) throws -> Piece? {
        try state.withLock { state throws in
            if let failure = state.failure { throw failure }
            let size = RedisCacheRecord.pieceSize
            guard state.rest.count >= size || isLast && !state.rest.isEmpty else { return nil }
            let bytes = Data(state.rest.prefix(size))
            state.rest = Data(state.rest.dropFirst(bytes.count))
            let index = state.checksums.count
            state.checksums.append(RedisCacheRecord.checksum(of: bytes, at: index))
            return Piece(index: index, bytes: bytes)
        }
    }

    private func send(_ piece: Piece) throws {
        var bytes = piece.bytes
        if storage.isPrivate(names.head) {
            guard let vault = storage.vault else { throw RedisFailure.noKey }
            bytes = try vault.seal(bytes, for: "\(digest):\(id):\(piece.index)")
        }
        let (storage, digest, id, sealed) = (storage, digest, id, bytes)
        connection.begin(within: Self.limit) { run in
            let name = storage.names(run).bodies(digest) + id
            return [
                RedisCommand("HSET", [.text(name), .number(Int64(piece.index)), .bytes(sealed)]),
                RedisCommand("PEXPIRE", [.text(name), .number(RedisCacheStorage.pieceLifetime)]),
            ]
        } onEnd: { [weak self] result in
            self?.pieceDidEnd(result)
        }
    }

    private func pieceDidEnd(_ result: Result<[RedisValue], RedisFailure>) {
        do throws(RedisFailure) {
            for reply in try result.get() { _ = try reply.checked() }
        } catch {
            state.withLock { $0.failure = $0.failure ?? error }
        }
    }
}
#endif
