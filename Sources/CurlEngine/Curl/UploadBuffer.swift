import FoundationEssentials

/// The chunks of a request body on their way to libcurl, and the file that follows them.
struct UploadBuffer {
    private var chunks: [Data] = []
    private var first = 0
    private var offset = 0
    /// Bytes that wait, those of the file not counted.
    private(set) var buffered = 0
    /// What comes after the chunks.
    private(set) var file: FileSource?
    /// No more chunks come.
    var isFinished = false

    /// Below this many bytes more chunks are asked for.
    static let lowWater = 256 << 10

    /// Whether everything has been read and nothing comes.
    var isAtEnd: Bool { isFinished && file == nil && buffered == 0 }
    /// Whether more chunks are welcome.
    var hasRoom: Bool { !isFinished && file == nil && buffered < Self.lowWater }

    mutating func append(_ chunk: Data) {
        guard !chunk.isEmpty else { return }
        chunks.append(chunk)
        buffered += chunk.count
    }

    /// - Parameter isFetchedWhole: What the page cache holds is not asked for.
    mutating func append(_ reader: FileReader, isFetchedWhole: Bool = false) {
        if reader.length > 0 { file = FileSource(reader, isFetchedWhole: isFetchedWhole) }
    }

    mutating func discard() {
        chunks = []
        (first, offset, buffered) = (0, 0, 0)
        file = nil
        isFinished = true
    }

    /// Fills `buffer` as far as there are bytes; returns how many.
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

    // MARK: What is not in memory

    /// The part of the file that the caller is to fetch, if one is wanted now.
    ///
    /// - Parameter isStarved: Nothing could be read.
    mutating func beginFetch(isStarved: Bool) -> FileSource.Part? {
        // Where every byte has to be fetched, the next ones are while these are sent.
        guard isStarved || (file?.isFetchedWhole == true && buffered < Self.lowWater) else { return nil }
        return file?.beginFetch()
    }

    /// Takes in what was fetched.
    mutating func endFetch(_ bytes: Data) {
        guard file != nil else { return }
        file?.endFetch(bytes.count)
        append(bytes)
        dropReadFile()
    }

    private mutating func dropReadFile() { if file?.isAtEnd == true { file = nil } }
}
