import CurlEngine

/// A search for the ends of lines in a chunk. Each byte is examined a fixed number of times, regardless of the lines.
struct LineFinder {
    /// The end of a line: the offset of its first byte, and its length in bytes.
    struct End: Equatable {
        var offset: Int
        var length: Int
    }

    private static let lineFeed: UInt8 = 0x0A
    private static let carriageReturn: UInt8 = 0x0D

    private let ends: LineEnds
    // The first end of each kind that has not been passed, so that a kind that is rare or missing is not searched for again at
    // every line; -1 if not searched for yet.
    private var nextLineFeed = -1
    private var nextReturn = -1
    private var nextOther = End(offset: -1, length: 0)

    init(_ ends: LineEnds) { self.ends = ends }

    /// Forgets the ends found so far, for a new chunk.
    mutating func reset() {
        nextLineFeed = -1
        nextReturn = -1
        nextOther.offset = -1
    }

    /// Returns the first end from `start` on; `nil` if there is none. For CRLF that is only the CR, unless a CR alone is not an end.
    mutating func end(in bytes: Span<UInt8>, from start: Int) -> End? {
        let count = bytes.count
        if nextLineFeed < start { nextLineFeed = bytes.offset(of: Self.lineFeed, from: start) }
        if ends == .lineFeed {
            guard nextLineFeed < count else { return nil }
            let hasReturn = nextLineFeed > start && bytes[nextLineFeed - 1] == Self.carriageReturn
            return hasReturn ? End(offset: nextLineFeed - 1, length: 2) : End(offset: nextLineFeed, length: 1)
        }
        if nextReturn < start { nextReturn = bytes.offset(of: Self.carriageReturn, from: start) }
        var end = End(offset: min(nextLineFeed, nextReturn), length: 1)
        if ends == .unicode {
            if nextOther.offset < start { nextOther = Self.other(in: bytes, from: start) }
            if nextOther.offset < end.offset { end = nextOther }
        }
        return end.offset < count ? end : nil
    }

    /// Returns the first NEL (C2 85), LINE SEPARATOR (E2 80 A8) or PARAGRAPH SEPARATOR (E2 80 A9); if there is none, an end of length
    /// zero at the end of the chunk.
    private static func other(in bytes: Span<UInt8>, from start: Int) -> End {
        let count = bytes.count
        var offset = start
        while offset < count {
            let byte = bytes[offset]
            if byte == 0xC2, offset + 1 < count, bytes[offset + 1] == 0x85 { return End(offset: offset, length: 2) }
            if byte == 0xE2, offset + 2 < count, bytes[offset + 1] == 0x80, bytes[offset + 2] & 0xFE == 0xA8 {
                return End(offset: offset, length: 3)
            }
            offset += 1
        }
        return End(offset: count, length: 0)
    }

    /// Returns the number of bytes at the end of an incomplete line that may turn out to belong to the end of the line.
    func heldBack(of line: [UInt8]) -> Int {
        guard let last = line.last else { return 0 }
        switch ends {
        case .standard: return 0
        case .lineFeed: return last == Self.carriageReturn ? 1 : 0
        case .unicode:
            if last == 0xC2 || last == 0xE2 { return 1 }
            return last == 0x80 && line.count > 1 && line[line.count - 2] == 0xE2 ? 2 : 0
        }
    }
}
