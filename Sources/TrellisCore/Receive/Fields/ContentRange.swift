import CurlEngine
import HTTPTypes

/// The range of a representation that a response carries: the value of `Content-Range` (RFC 9110, section 14.4).
package enum ContentRange: Hashable, Sendable {
    /// The range of the bytes, and the size of the representation if that is known.
    case part(Range<Int64>, total: Int64?)
    /// The value of a 416: the range does not exist, and the representation has `total` bytes.
    case unsatisfied(total: Int64)

    /// Parses a value strictly; `nil` if it is anything else, because bytes must not be written at an uncertain position.
    package init?(_ text: String) {
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
    package static func number(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}

extension ContentRange {
    /// Returns whether a response claims that its body is a part of a representation: a 206, or another success with a `Content-Range` in
    /// bytes that does not cover the complete representation.
    ///
    /// The field has a meaning only in a 206 and a 416 (RFC 9110, section 14.4). Some servers send it with the status 200 and a part, so
    /// that neither the part nor the complete representation is certain. A field that cannot be read makes the body a part too.
    package static func claimsPart(status: Int, _ fields: HTTPFields) -> Bool {
        guard status != 206 else { return true }
        return 200..<300 ~= status && fields[values: .contentRange].contains { isPartOfBytes($0) }
    }

    private static func isPartOfBytes(_ value: String) -> Bool {
        let unit = value.utf8.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "=") }
        guard unit.lazy.map({ $0 | 0x20 }).elementsEqual("bytes".utf8) else { return false }
        switch ContentRange(value) {
        case .part(let range, let total): return total.map { range != 0..<$0 } ?? true
        case .unsatisfied: return false
        case nil: return true
        }
    }
}
