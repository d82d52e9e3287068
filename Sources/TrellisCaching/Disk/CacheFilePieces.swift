import FoundationEssentials
import TrellisCore

/// The bytes that wait for their write to an entry's file. Large pieces are kept as they are, without a copy; small ones are joined,
/// because each piece is a call of the system, and keeps memory that may be larger than the piece.
struct CacheFilePieces: Sendable {
    /// The number of bytes from which on a piece is not copied.
    static let smallestPiece = 64 << 10
    /// The number of bytes from which on joined pieces are one piece.
    private static let joinedSize = 256 << 10
    /// The number of bytes from which on a write is worthwhile. Bytes that are written soon are still in the processor's cache.
    private static let worthwhileCount = 256 << 10
    /// The number of bytes from which on no more are taken while others are written.
    private static let largeCount = 1 << 20
    /// The number of pieces from which on no more are taken: each may keep a block of 256 KiB, although it is a quarter.
    private static let largePieceCount = 8

    private var pieces: [Data] = []
    /// The small pieces at the end, joined.
    private var joined = Data()
    /// The number of bytes.
    private(set) var count = 0

    /// Whether a write is worthwhile.
    var isWorthWriting: Bool { count >= Self.worthwhileCount }
    /// Whether no more bytes are taken while others are written.
    var isLarge: Bool { count >= Self.largeCount || pieces.count >= Self.largePieceCount }

    /// Adds bytes to the end.
    mutating func append(_ bytes: Data) {
        count += bytes.count
        guard bytes.count < Self.smallestPiece else {
            endJoining()
            pieces.append(bytes)
            return
        }
        joined.append(bytes)
        if joined.count >= Self.joinedSize { endJoining() }
    }

    /// Removes all bytes, and returns them in their order.
    mutating func take() -> [Data] {
        endJoining()
        defer { (pieces, count) = ([], 0) }
        return pieces
    }

    private mutating func endJoining() {
        guard !joined.isEmpty else { return }
        pieces.append(joined)
        joined = Data()
    }
}
