import FoundationEssentials

/// The chunks of a request body that were not passed on yet, and the file that follows them.
struct UploadBuffer {
    private var chunks: [Data] = []
    /// The index of the first unread chunk.
    private var first = 0
    /// The number of bytes that were read of that chunk.
    private var offset = 0
    /// The number of unread bytes, without the file.
    private(set) var buffered = 0
    /// The file that follows the chunks.
    private(set) var file: FileSource?
    /// Whether no more chunks follow.
    var isFinished = false

    /// The number of unread bytes below which more chunks are requested.
    static let lowWater = 256 << 10

    /// Whether everything was read and nothing follows.
    var isAtEnd: Bool { isFinished && file == nil && buffered == 0 }
    /// Whether more chunks can be added.
    var hasRoom: Bool { !isFinished && file == nil && buffered < Self.lowWater }

    mutating func append(_ chunk: Data) {
        guard !chunk.isEmpty else { return }
        chunks.append(chunk)
        buffered += chunk.count
    }

    /// Adds a file after the chunks.
    ///
    /// - Parameter isFetchedWhole: Whether every byte is read on another thread, even if the page cache has it.
    mutating func append(_ reader: FileReader, isFetchedWhole: Bool = false) {
        if reader.length > 0 { file = FileSource(reader, isFetchedWhole: isFetchedWhole) }
    }

    /// Drops all bytes and the file, and ends the body.
    mutating func discard() {
        chunks = []
        (first, offset, buffered) = (0, 0, 0)
        file = nil
        isFinished = true
    }

    /// Fills `buffer` with the available bytes. Returns the number of bytes.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let filled = unsafe readChunks(into: buffer)
        guard filled < buffer.count, file != nil else { return filled }
        let read = unsafe file?.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])) ?? 0
        dropReadFile()
        return filled + read
    }

    private mutating func readChunks(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count, first < chunks.count {
            let chunk = chunks[first]
            let count = min(buffer.count - filled, chunk.count - offset)
            let start = chunk.startIndex + offset
            unsafe chunk.copyBytes(
                to: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count]),
                from: start..<start + count)
            filled += count
            offset += count
            if offset == chunk.count {
                chunks[first] = Data()
                first += 1
                offset = 0
            }
        }
        if first == chunks.count || first >= 32 {
            chunks.removeFirst(first)
            first = 0
        }
        buffered -= filled
        return filled
    }

    // MARK: Parts of the file

    /// Returns the part of the file that the caller must read, if one is needed now.
    ///
    /// - Parameter isStarved: Whether nothing could be read.
    mutating func beginFetch(isStarved: Bool) -> FileSource.Part? {
        // If every byte is read on another thread, the next part is read while these bytes are sent.
        guard isStarved || (file?.isFetchedWhole == true && buffered < Self.lowWater) else { return nil }
        return file?.beginFetch()
    }

    /// Adds the bytes of a part that was read.
    mutating func endFetch(_ bytes: Data) {
        guard file != nil else { return }
        file?.endFetch(bytes.count)
        append(bytes)
        dropReadFile()
    }

    /// Returns the next part of the file for the system to send, if it is the next of the body.
    mutating func beginSending(atMost limit: Int) -> FileSource.Part? {
        buffered == 0 ? file?.beginSending(atMost: limit) : nil
    }

    /// Ends the sending of a part.
    mutating func endSending(_ count: Int, isSupported: Bool) {
        file?.endSending(count, isSupported: isSupported)
        dropReadFile()
    }

    /// Whether a part of the file is being read or sent.
    var isWaitingForFile: Bool { file?.isFetching ?? false }

    private mutating func dropReadFile() { if file?.isAtEnd == true { file = nil } }
}
