/// Which part of a representation a response has: the value of `Content-Range` (RFC 9110, section 14.4).
enum ContentRange: Hashable, Sendable {
    /// The bytes from the first to the one behind the last, of so many in all where that is known.
    case part(Range<Int64>, total: Int64?)
    /// There is no such part; there are so many bytes in all.
    case unsatisfied(total: Int64)

    /// Reads a value; `nil` for anything that is not just so. What is glued to a file has to be certain.
    init?(_ text: String) {
        var words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words.removeFirst().lowercased() == "bytes" else { return nil }
        let halves = words[0].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[0] == "*" {
            guard let total = Self.number(halves[1]) else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
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

    /// Digits alone: no sign, no space.
    static func number(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}
