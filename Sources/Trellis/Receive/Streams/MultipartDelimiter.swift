import CurlEngine

/// The line between two parts of a multipart body (RFC 2046, section 5.1.1).
struct MultipartDelimiter: Sendable {
    /// The result of a comparison with the start of a line.
    enum Match: Equatable {
        /// The line is not a boundary line.
        case none
        /// The bytes may be the beginning of a boundary line; more bytes are needed.
        case undecided
        /// The line is a boundary line of `length` bytes, its end included; `isLast` for the boundary after the last part.
        case line(length: Int, isLast: Bool)
    }

    /// The maximum white space after the boundary in its line, in bytes.
    static let maximumPadding = 256

    /// The two hyphens and the boundary.
    private let marker: [UInt8]

    init(_ boundary: String) { self.init(boundary.utf8) }

    init(_ boundary: some Sequence<UInt8>) { marker = Array("--".utf8) + boundary }

    /// Compares the boundary with the bytes at `start`, which is the start of a line.
    ///
    /// - Parameter isComplete: Indicates whether no more bytes follow.
    func match(_ bytes: [UInt8], at start: Int, isComplete: Bool) -> Match {
        let bytes = bytes.span
        let available = min(bytes.count - start, marker.count)
        guard bytes.matches(marker.span.extracting(first: available), at: start) else { return .none }
        let undecided: Match = isComplete ? .none : .undecided
        guard available == marker.count else { return undecided }
        var end = start + marker.count
        guard end < bytes.count else { return undecided }
        var isLast = false
        if bytes[end] == UInt8(ascii: "-") {
            guard end + 1 < bytes.count else { return undecided }
            guard bytes[end + 1] == UInt8(ascii: "-") else { return .none }
            isLast = true
            end += 2
        }
        let padding = end
        while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 { end += 1 }
        guard end - padding <= Self.maximumPadding else { return .none }
        if end < bytes.count, bytes[end] == 0x0D { end += 1 }
        guard end < bytes.count else {
            // The last boundary needs no end of its line.
            return isComplete && isLast ? .line(length: end - start, isLast: true) : undecided
        }
        return bytes[end] == 0x0A ? .line(length: end + 1 - start, isLast: isLast) : .none
    }
}
