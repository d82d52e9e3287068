import CurlEngine
import HTTPTypes
import TrellisCore

/// The single range of bytes that a request asks for (RFC 9110, section 14.1.2).
enum RequestedRange: Hashable, Sendable {
    /// The bytes from a position, through another one or to the end.
    case from(Int64, through: Int64?)
    /// So many bytes at the end.
    case suffix(Int64)

    /// Reads the `Range` of a request; `nil` without one, or if the request asks for several ranges or something else, so that the complete
    /// representation is the response (RFC 9110, section 14.2).
    init?(_ headers: HTTPFields) {
        guard let text = headers.single(.range), text.lowercasedASCII().hasBytePrefix("bytes=") else { return nil }
        let ends = Substring(text.utf8.dropFirst(6)).split(atByte: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        let (first, last) = (ContentRange.number(ends[0]), ContentRange.number(ends[1]))
        switch (first, last) {
        case (let first?, let last?) where first <= last: self = .from(first, through: last)
        case (let first?, nil) where ends[1].isEmpty: self = .from(first, through: nil)
        case (nil, let last?) where ends[0].isEmpty: self = .suffix(last)
        default: return nil
        }
    }

    /// Returns the bytes of a representation with a length; `nil` if it has none of them.
    func bytes(of length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            return first..<min(last ?? .max, length - 1) + 1
        case .suffix(let count):
            guard count > 0, length > 0 else { return nil }
            return max(length - count, 0)..<length
        }
    }
}
