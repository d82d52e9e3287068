import CurlEngine

/// Where in its chunk a ``LineSplitter`` is, and what it keeps of earlier ones.
struct LineScan {
    /// Where a complete line is.
    enum Line {
        /// These bytes of the chunk.
        case inChunk(Range<Int>)
        /// All of ``LineScan/pending``.
        case joined
    }

    /// The beginning of a line whose end has not come yet.
    private(set) var pending: [UInt8] = []
    private let ends: LineEnds
    private let limit: Int
    private var finder: LineFinder
    private var position = 0
    /// The last line was `pending`, which is still to be emptied.
    private var isPendingDone = false
    /// The last line ended with a carriage return, so that a line feed at the start belongs to it.
    private var mustSkipLineFeed = false

    init(endingAt ends: LineEnds, limit: Int) {
        self.ends = ends
        self.limit = limit
        finder = LineFinder(ends)
    }

    /// Begins a new chunk, an empty array yet. The end of a line may be cut in two: its first bytes are added, so that it is
    /// found like any other.
    mutating func begin(_ chunk: inout [UInt8]) {
        position = 0
        finder.reset()
        let held = finder.heldBack(of: pending)
        guard held > 0 else { return }
        chunk.append(contentsOf: pending.suffix(held))
        pending.removeLast(held)
    }

    /// The next line that is complete.
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

    /// The line at the end of the body, if it has no end of its own.
    mutating func finish() throws(TrellisError) -> [UInt8]? {
        if isPendingDone { pending = [] }
        defer { pending = [] }
        // What might have become an end belongs to the line after all.
        try check(pending.count)
        return pending.isEmpty ? nil : pending
    }

    private func check(_ length: Int) throws(TrellisError) {
        guard length <= limit else { throw .tooLong("a line", limit: limit) }
    }
}
