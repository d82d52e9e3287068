#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCaching

/// The body of an entry: in its record, or in pieces that are read as they are needed. A piece that is missing, or is not the one that was
/// stored, is an error: nobody gets a body that only looks whole.
struct RedisCachedBody: CachedBody {
    /// The largest number of pieces that are asked for at once: 4 MiB.
    private static let piecesAtOnce = 64

    let record: RedisCacheRecord
    private let id: String
    private let digest: String
    /// The visit of the request that reads.
    private let visit: StorageVisit
    private let storage: RedisCacheStorage

    init(_ record: RedisCacheRecord, id: String, digest: String, visit: StorageVisit, in storage: RedisCacheStorage) {
        (self.record, self.id, self.digest) = (record, id, digest)
        (self.visit, self.storage) = (visit, storage)
    }

    var length: Int64 { record.length }

    func bytes(in range: Range<Int64>) async throws -> Data {
        guard !range.isEmpty else { return Data() }
        guard range.lowerBound >= 0, range.upperBound <= length else { throw RedisFailure.damaged }
        if let inline = record.inline {
            let start = inline.startIndex
            return Data(inline[start + Int(range.lowerBound)..<start + Int(range.upperBound)])
        }
        let size = Int64(RedisCacheRecord.pieceSize)
        let first = Int(range.lowerBound / size), last = Int((range.upperBound - 1) / size)
        var data = Data()
        for index in stride(from: first, through: last, by: Self.piecesAtOnce) {
            for piece in try await pieces(index...min(last, index + Self.piecesAtOnce - 1)) { data.append(piece) }
        }
        let start = data.startIndex + Int(range.lowerBound - Int64(first) * size)
        return data[start..<start + range.count]
    }

    private func pieces(_ indices: ClosedRange<Int>) async throws -> [Data] {
        let (storage, digest, id) = (storage, digest, id)
        let replies = try await storage.server.values(visit) { run in
            [
                RedisCommand(
                    "HMGET",
                    [.text(storage.names(run).bodies(digest) + id)] + indices.map { .number(Int64($0)) })
            ]
        }
        guard let values = replies.first?.elements, values.count == indices.count else { throw RedisFailure.damaged }
        return try zip(indices, values).map { index, value in
            guard var piece = value.data else { throw RedisFailure.damaged }
            if storage.isPrivate(record.names.head) {
                guard let vault = storage.vault else { throw RedisFailure.noKey }
                piece = try vault.open(piece, for: "\(digest):\(id):\(index)")
            }
            guard piece.count == record.size(ofPiece: index), index < record.pieces.count,
                RedisCacheRecord.checksum(of: piece, at: index) == record.pieces[index]
            else { throw RedisFailure.damaged }
            return piece
        }
    }
}
#endif
