import CurlEngine

/// Finds the ends of lines in a chunk, each byte looked at a fixed number of times however the lines lie.
struct LineFinder {
    /// An end of a line: where it begins, and how many bytes it has.
    struct End: Equatable {
        var offset: Int
        var length: Int
    }

    private static let lineFeed: UInt8 = 0x0A
    private static let carriageReturn: UInt8 = 0x0D

    private let ends: LineEnds
    // The first of each kind that has not been passed, so that a kind that is rare, or not there at all, is not looked for
    // again at every line; -1 where that is not known.
    private var nextLineFeed = -1
    private var nextReturn = -1
    private var nextOther = End(offset: -1, length: 0)

    init(_ ends: LineEnds) { self.ends = ends }

    /// Forgets what it knows of the chunk.
    mutating func reset() {
        nextLineFeed = -1
        nextReturn = -1
        nextOther.offset = -1
    }

    /// The first end from `start` on. Of CRLF only the CR, unless a CR alone is no end.
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

    /// The first NEL (C2 85), LINE SEPARATOR (E2 80 A8) or PARAGRAPH SEPARATOR (E2 80 A9).
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

    /// How many bytes at the end of a line that is not complete may turn out to belong to its end.
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
