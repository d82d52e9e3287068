/// The framing of a chunked body that the engine itself reads (RFC 9112, section 7.1).
struct ChunkedBody {
    /// The limit in bytes on the line in front of a chunk, with its extensions.
    static let longestLine = 4 << 10

    /// The parts of a body, in the order in which they follow each other.
    enum Place: Hashable {
        /// The line with the size of the next chunk.
        case size
        /// The bytes of a chunk, as many as are left.
        case bytes(Int64)
        /// The end of line after the bytes of a chunk.
        case bytesEnd
        /// A trailer field, or the empty line after the last one.
        case trailers
    }

    private(set) var place = Place.size

    /// Records that bytes of the present chunk were read.
    mutating func didRead(_ count: Int) {
        guard case .bytes(let rest) = place else { return }
        place = rest > Int64(count) ? .bytes(rest - Int64(count)) : .bytesEnd
    }

    /// Reads a line, without its line end, in front of a chunk or after it. Returns `false` if the line is malformed.
    mutating func read(_ line: Span<UInt8>) -> Bool {
        switch place {
        case .size:
            guard let size = Self.size(line) else { return false }
            place = size > 0 ? .bytes(size) : .trailers
            return true
        case .bytesEnd:
            place = .size
            return line.isEmpty
        case .bytes, .trailers: return false
        }
    }

    /// Returns the size of a chunk; `nil` if the line has none. Extensions are ignored, as RFC 9112, section 7.1.1, requires.
    private static func size(_ line: Span<UInt8>) -> Int64? {
        var (size, index): (Int64, Int) = (0, 0)
        while index < line.count, let digit = Int64(hexDigit: line[index]) {
            guard size < 1 << 56 else { return nil }
            size = size << 4 | digit
            index += 1
        }
        guard index > 0 else { return nil }
        while index < line.count, line[index] == 32 || line[index] == 9 { index += 1 }
        return index == line.count || line[index] == UInt8(ascii: ";") ? size : nil
    }
}
