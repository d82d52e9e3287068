/// The framing of a chunked body up to its trailers (RFC 9112, section 7.1), read in pieces of any size.
///
/// A line may end with a line feed alone. Extensions are ignored, as section 7.1.1 requires.
struct ChunkFraming: Hashable, Sendable {
    /// The limit in bytes on the line before a chunk, with its extensions.
    static let longestLine = 4 << 10

    /// What the bytes at the present position are.
    enum Outcome: Sendable {
        /// All bytes were read.
        case more
        /// The next ``rest`` bytes belong to the body.
        case bytes
        /// The trailers follow.
        case trailers
        /// The framing is malformed.
        case malformed
        /// A line is longer than ``longestLine``.
        case tooLong
    }

    private enum Place: Sendable {
        case size, digits, blanks, parameters, lineFeed
        case bytes, bytesEnd, bytesLineFeed
        case trailers
    }

    private var place = Place.size
    private var lineLength = 0
    /// The number of bytes that are left of the chunk.
    private(set) var rest: Int64 = 0

    /// Reads framing from a position on, which it moves.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Outcome {
        while place != .bytes, place != .trailers {
            guard position < bytes.count else { return .more }
            guard unsafe read(bytes[position]) else { return .malformed }
            guard lineLength <= Self.longestLine else { return .tooLong }
            position += 1
        }
        return place == .bytes ? .bytes : .trailers
    }

    /// Records that bytes of the present chunk were used.
    mutating func didUse(_ count: Int) {
        rest -= Int64(count)
        if rest == 0 { place = .bytesEnd }
    }

    /// Reads a byte. Returns `false` if it cannot stand here.
    private mutating func read(_ byte: UInt8) -> Bool {
        switch place {
        case .size:
            guard let digit = Int64(hexDigit: byte) else { return false }
            (place, rest, lineLength) = (.digits, digit, 1)
            return true
        case .digits:
            lineLength += 1
            guard let digit = Int64(hexDigit: byte) else { return readAfterSize(byte) }
            guard rest < 1 << 56 else { return false }
            rest = rest << 4 | digit
            return true
        case .blanks:
            lineLength += 1
            return readAfterSize(byte)
        case .parameters:
            lineLength += 1
            return byte == 0x0d || byte == 0x0a ? readAfterSize(byte) : byte != 0
        case .lineFeed: return byte == 0x0a && readAfterSize(byte)
        case .bytesEnd where byte == 0x0d: place = .bytesLineFeed
        case .bytesEnd, .bytesLineFeed:
            place = .size
            return byte == 0x0a
        case .bytes, .trailers: break
        }
        return true
    }

    private mutating func readAfterSize(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x0a: place = rest > 0 ? .bytes : .trailers
        case 0x0d: place = .lineFeed
        case 0x20, 0x09: place = .blanks
        case UInt8(ascii: ";"): place = .parameters
        default: return false
        }
        return true
    }
}

extension Int64 {
    init?(hexDigit byte: UInt8) {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self = Int64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self = Int64(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self = Int64(byte - UInt8(ascii: "A")) + 10
        default: return nil
        }
    }
}
