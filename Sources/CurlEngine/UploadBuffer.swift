import FoundationEssentials

/// The chunks of a request body on their way to libcurl.
struct UploadBuffer {
    private var chunks: [Data] = []
    private var first = 0
    private var offset = 0
    /// Bytes that wait.
    private(set) var buffered = 0
    /// No more chunks come.
    var isFinished = false

    /// Below this many bytes more chunks are asked for.
    static let lowWater = 256 << 10

    mutating func append(_ chunk: Data) {
        guard !chunk.isEmpty else { return }
        chunks.append(chunk)
        buffered += chunk.count
    }

    mutating func discard() {
        chunks = []
        (first, offset, buffered) = (0, 0, 0)
        isFinished = true
    }

    /// Fills `buffer` as far as there are bytes; returns how many.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
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
}
