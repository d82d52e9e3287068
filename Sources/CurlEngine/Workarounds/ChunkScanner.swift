// Needed by libcurl of every version so far, for `Transfer+EarlyAnswer`.

/// A search for the end of a chunked body, which libcurl decodes. It finds no end after malformed bytes.
struct ChunkScanner {
    private var decoder = HTTP1ResponseDecoder(chunkedBodyWithLimit: 1 << 20)

    /// The number of bytes in the chunks, without their framing.
    private(set) var payload: Int64 = 0
    /// Whether the last chunk and the trailers after it have arrived.
    var isAtEnd: Bool { decoder.hasEnded }

    /// Scans the next bytes.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while let event = unsafe try? decoder.next(in: bytes.bytes, at: &position) {
            switch event {
            case .body(let range): payload += Int64(range.count)
            case .more, .end, .informational, .head, .switched: return
            }
        }
    }
}
