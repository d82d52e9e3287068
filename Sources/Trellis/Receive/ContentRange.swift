import CurlEngine

/// The range of a representation that a response carries: the value of `Content-Range` (RFC 9110, section 14.4).
enum ContentRange: Hashable, Sendable {
    /// The range of the bytes, and the size of the representation if that is known.
    case part(Range<Int64>, total: Int64?)
    /// The value of a 416: the range does not exist, and the representation has `total` bytes.
    case unsatisfied(total: Int64)

    /// Parses a value strictly; `nil` if it is anything else, because bytes must not be written at an uncertain position.
    init?(_ text: String) {
        var words = text.split(atByte: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words.removeFirst().lowercasedASCII() == "bytes" else { return nil }
        let halves = words[0].split(atByte: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[0] == "*" {
            guard let total = Self.number(halves[1]) else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = halves[0].split(atByte: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < .max
        else { return nil }
        guard halves[1] != "*" else {
            self = .part(first..<last + 1, total: nil)
            return
        }
        guard let total = Self.number(halves[1]), last < total else { return nil }
        self = .part(first..<last + 1, total: total)
    }

    /// Returns the number that digits alone stand for, without a sign or spaces.
    static func number(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}
