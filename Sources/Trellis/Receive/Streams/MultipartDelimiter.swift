import CurlEngine

/// The line between two parts of a multipart body (RFC 2046, section 5.1.1).
struct MultipartDelimiter: Sendable {
    /// What may stand at the start of a line.
    enum Match: Equatable {
        /// Something else.
        case none
        /// The beginning of a boundary line; more bytes are needed.
        case undecided
        /// A boundary line of so many bytes, its end included.
        case line(length: Int, isLast: Bool)
    }

    /// The most white space that a boundary line may have after it.
    static let maximumPadding = 256

    /// Two hyphens and the boundary.
    private let marker: [UInt8]

    init(_ boundary: String) { self.init(boundary.utf8) }

    init(_ boundary: some Sequence<UInt8>) { marker = Array("--".utf8) + boundary }

    /// What stands at `start`, which is the start of a line.
    ///
    /// - Parameter isComplete: No more bytes come.
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
            // Nothing needs to follow the last boundary.
            return isComplete && isLast ? .line(length: end - start, isLast: true) : undecided
        }
        return bytes[end] == 0x0A ? .line(length: end + 1 - start, isLast: isLast) : .none
    }
}
