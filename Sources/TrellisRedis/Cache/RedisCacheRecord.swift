#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCaching

/// The head of an entry with its names, and a small body or what its pieces must be, as the server keeps them.
struct RedisCacheRecord: Sendable {
    /// The largest number of bytes of a body that is part of its record, so that a hit takes one exchange with the server.
    static let largestInline = 32 << 10
    /// The number of bytes of a piece of a body; the last one may have fewer.
    static let pieceSize = 64 << 10
    private static let version: UInt64 = 1
    /// The largest number of bytes of a body that a record may tell.
    private static let largestLength: Int64 = 1 << 40

    /// The head with the key.
    var names: CacheFileHead
    /// The number of bytes of the body.
    var length: Int64
    /// The body, if it is part of the record.
    var inline: Data?
    /// The checksums of the pieces of the body, if it is not.
    var pieces: [UInt64] = []

    /// The bytes of the record.
    var encoded: Data {
        let head = names.encoded
        var data = Data()
        for word in [Self.version, UInt64(length), UInt64(head.count)] { data.append(word: word) }
        data.append(head)
        data.append(word: inline == nil ? UInt64(pieces.count) : .max)
        for piece in pieces { data.append(word: piece) }
        if let inline { data.append(inline) }
        data.append(word: Checksum64.of(data.bytes))
        return data
    }

    /// Creates a record.
    init(_ names: CacheFileHead, length: Int64, inline: Data?, pieces: [UInt64] = []) {
        (self.names, self.length, self.inline, self.pieces) = (names, length, inline, pieces)
    }

    /// Reads a record; `nil` if it is damaged.
    init?(_ data: Data) {
        guard data.count >= 8 else { return nil }
        var end = ByteCursor(Data(data.suffix(8)))
        var cursor = ByteCursor(Data(data.dropLast(8)))
        guard let checksum = end.word(), Checksum64.of(Data(data.dropLast(8)).bytes) == checksum,
            cursor.word() == Self.version, let length = cursor.word().flatMap({ Int64(exactly: $0) }),
            length <= Self.largestLength, let size = cursor.word().flatMap({ Int(exactly: $0) }),
            let head = cursor.bytes(size),
            let names = CacheFileHead(head), let count = cursor.word()
        else { return nil }
        (self.names, self.length) = (names, length)
        if count == .max {
            guard let size = Int(exactly: length), let inline = cursor.bytes(size) else { return nil }
            self.inline = inline
        } else {
            guard count == UInt64(Self.pieceCount(of: length)) else { return nil }
            for _ in 0..<count {
                guard let piece = cursor.word() else { return nil }
                pieces.append(piece)
            }
        }
        guard cursor.isAtEnd else { return nil }
    }

    /// Returns the number of pieces of a body.
    static func pieceCount(of length: Int64) -> Int { Int((length + Int64(pieceSize) - 1) / Int64(pieceSize)) }

    /// Returns the checksum of a piece, which depends on its place.
    static func checksum(of piece: Data, at index: Int) -> UInt64 { Checksum64.of(piece.bytes, seed: UInt64(index)) }

    /// Returns the number of bytes of a piece.
    func size(ofPiece index: Int) -> Int {
        Int(min(Int64(Self.pieceSize), length - Int64(index) * Int64(Self.pieceSize)))
    }
}

extension Data {
    /// Adds a number of 8 bytes, the lowest first.
    mutating func append(word: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
    }
}
#endif
