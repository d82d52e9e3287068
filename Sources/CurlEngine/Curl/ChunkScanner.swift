/// Where a chunked body ends (RFC 9112, section 7.1). What libcurl makes of the chunks is its own affair: this one looks at
/// them only to notice the end, and stops looking where they are malformed.
struct ChunkScanner: Hashable {
    private enum Place: Hashable { case size, sizeLineEnd, bytes, bytesEnd, trailer, trailerLine, end, lost }

    private var place = Place.size
    private var hasDigits = false
    private var size: Int64 = 0

    /// Bytes that the chunks have brought, their framing not counted.
    private(set) var payload: Int64 = 0
    /// The last chunk and what follows it have come.
    var isAtEnd: Bool { place == .end }

    /// Takes the next bytes.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index < bytes.count {
            if place == .bytes {
                // Nothing in a chunk is of interest.
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

extension Int64 {
    fileprivate init?(hexDigit byte: UInt8) {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self = Int64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self = Int64(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self = Int64(byte - UInt8(ascii: "A")) + 10
        default: return nil
        }
    }
}
