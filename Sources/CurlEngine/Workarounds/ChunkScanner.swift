// Needed by libcurl of every version so far, for `Transfer+EarlyAnswer`.

/// A scanner for the end of a chunked body (RFC 9112, section 7.1). libcurl decodes the chunks. The scanner reads them only to find the
/// end, and stops if they are malformed.
struct ChunkScanner: Hashable {
    /// The positions in a chunked body; `lost` after malformed bytes.
    private enum Place: Hashable { case size, sizeLineEnd, bytes, bytesEnd, trailer, trailerLine, end, lost }

    private var place = Place.size
    /// Whether the size of the chunk has a digit.
    private var hasDigits = false
    /// The number of bytes that are left of the chunk.
    private var size: Int64 = 0

    /// The number of bytes in the chunks, without their framing.
    private(set) var payload: Int64 = 0
    /// Whether the last chunk and the trailers after it have arrived.
    var isAtEnd: Bool { place == .end }

    /// Scans the next bytes.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index < bytes.count {
            if place == .bytes {
                // The content of a chunk is skipped.
                let count = min(size, Int64(bytes.count - index))
                payload += count
                size -= count
                index += Int(count)
                if size == 0 { place = .bytesEnd }
            } else {
                unsafe scan(bytes[index])
                index += 1
            }
        }
    }

    private mutating func scan(_ byte: UInt8) {
        switch place {
        case .size: scanSize(byte)
        case .sizeLineEnd: if byte == UInt8(ascii: "\n") { endSizeLine() }
        case .bytesEnd:
            if byte == UInt8(ascii: "\n") { (place, size, hasDigits) = (.size, 0, false) }
        case .trailer:
            if byte == UInt8(ascii: "\n") { place = .end } else if byte != UInt8(ascii: "\r") { place = .trailerLine }
        case .trailerLine: if byte == UInt8(ascii: "\n") { place = .trailer }
        case .bytes, .end, .lost: break
        }
    }

    private mutating func scanSize(_ byte: UInt8) {
        if let digit = Int64(hexDigit: byte), size < 1 << 56 {
            size = size << 4 | digit
            hasDigits = true
        } else if !hasDigits {
            place = .lost
        } else if byte == UInt8(ascii: "\n") {
            endSizeLine()
        } else {
            place = .sizeLineEnd
        }
    }

    private mutating func endSizeLine() { place = size == 0 ? .trailer : .bytes }
}
