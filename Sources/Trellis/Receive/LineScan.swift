import CurlEngine

/// The position of a ``LineSplitter`` in its chunk, and the bytes that it keeps from earlier chunks.
struct LineScan {
    /// The place of a complete line.
    enum Line {
        /// A range of bytes of the chunk.
        case inChunk(Range<Int>)
        /// The whole of ``LineScan/pending``.
        case joined
    }

    /// The beginning of a line whose end has not been received yet.
    private(set) var pending: [UInt8] = []
    private let ends: LineEnds
    private let limit: Int
    private var finder: LineFinder
    /// The offset in the chunk from which on the next line is searched for.
    private var position = 0
    /// A Boolean value: the last line was ``pending``, which is still to be emptied.
    private var isPendingDone = false
    /// A Boolean value: the last line ended with a carriage return, so that a line feed that follows at once belongs to that end.
    private var mustSkipLineFeed = false

    init(endingAt ends: LineEnds, limit: Int) {
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
