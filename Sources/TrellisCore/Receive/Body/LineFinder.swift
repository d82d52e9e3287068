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

    private let ends: LineEnding
    // The first end of each kind that has not been passed, so that a kind that is rare or missing is not searched for again at
    // every line; -1 if not searched for yet.
    private var nextLineFeed = -1
    private var nextReturn = -1
    private var nextOther = End(offset: -1, length: 0)

    init(_ ends: LineEnding) { self.ends = ends }

    /// Forgets the ends found so far, for a new chunk.
    mutating func reset() {
        nextLineFeed = -1
        nextReturn = -1
        nextOther.offset = -1
    }

    /// Returns the first end from `start` on, if any. For CRLF that is only the CR, unless a CR alone is not an end.
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

/// The position of a ``LineSplitter`` in its chunk, and the bytes that it keeps from earlier chunks.
struct LineScan {
    /// The place of a complete line.
    enum Line {
        /// A range of bytes of the chunk.
        case inChunk(Range<Int>)
        /// The complete ``LineScan/pending``.
        case joined
    }

    /// The beginning of a line whose end has not been received yet.
    private(set) var pending: [UInt8] = []
    private let ends: LineEnding
    private let limit: Int
    private var finder: LineFinder
    /// The offset in the chunk from which on the next line is searched for.
    private var position = 0
    /// Whether the last line was ``pending``, which is still to be emptied.
    private var isPendingDone = false
    /// Whether the last line ended with a carriage return, so that a line feed that follows at once belongs to that end.
    private var mustSkipLineFeed = false

    init(endingAt ends: LineEnding, limit: Int) {
        self.ends = ends
        self.limit = limit
        finder = LineFinder(ends)
    }

    /// Begins a new chunk, which is still an empty array. An end of a line may be split between two chunks: its first bytes are added
    /// to the new chunk, so that the end is found like any other.
    mutating func begin(_ chunk: inout [UInt8]) {
        position = 0
        finder.reset()
        let held = finder.heldBack(of: pending)
        guard held > 0 else { return }
        chunk.append(contentsOf: pending.suffix(held))
        pending.removeLast(held)
    }

    /// Returns the place of the next complete line; `nil` if more bytes are needed.
    @inline(__always)
    mutating func next(in chunk: [UInt8]) throws(TrellisError) -> Line? {
        let bytes = chunk.span
        if isPendingDone {
            pending.removeAll(keepingCapacity: true)
            isPendingDone = false
        }
        if mustSkipLineFeed, position < bytes.count {
            if bytes[position] == 0x0A { position += 1 }
            mustSkipLineFeed = false
        }
        let start = position
        guard let end = finder.end(in: bytes, from: start) else {
            pending.append(copying: bytes.extracting(start..<bytes.count))
            position = bytes.count
            try check(pending.count - finder.heldBack(of: pending))
            return nil
        }
        try check(pending.count + end.offset - start)
        position = end.offset + end.length
        mustSkipLineFeed = ends != .lineFeed && bytes[end.offset] == 0x0D
        guard !pending.isEmpty else { return .inChunk(start..<end.offset) }
        pending.append(copying: bytes.extracting(start..<end.offset))
        isPendingDone = true
        return .joined
    }

    /// Returns the last line of the body, if the body does not end with the end of a line.
    mutating func finish() throws(TrellisError) -> [UInt8]? {
        if isPendingDone { pending = [] }
        defer { pending = [] }
        // Bytes that might have become an end belong to the line after all.
        try check(pending.count)
        return pending.isEmpty ? nil : pending
    }

    private func check(_ length: Int) throws(TrellisError) {
        guard length <= limit else { throw .tooLong("a line", limit: limit) }
    }
}
