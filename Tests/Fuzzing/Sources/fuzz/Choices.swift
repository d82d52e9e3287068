import FoundationEssentials

/// The decisions that the bytes of an input determine, one after the other. After the last byte, every decision is the first option.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Whether no bytes are left.
    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bool() -> Bool { byte() & 1 != 0 }

    /// Returns a number less than `count`, which is at most 256.
    mutating func number(below count: Int) -> Int { Int(byte()) % count }

    mutating func element<Element>(of all: [Element]) -> Element { all[number(below: all.count)] }

    mutating func bits() -> UInt64 { (0..<8).reduce(0) { bits, _ in bits << 8 | UInt64(byte()) } }

    /// Returns mostly up to 5 bytes, sometimes up to 31, rarely up to 255.
    mutating func bytes() -> [UInt8] {
        let choice = Int(byte())
        let length = choice < 192 ? choice % 6 : choice < 250 ? choice % 32 : Int(byte())
        let taken = rest.prefix(length)
        rest = rest.dropFirst(taken.count)
        return Array(taken)
    }

    /// Texts with a meaning in forms and heads, and special cases of Unicode.
    private static let special = [
        "&", "=", "+", "%", "#", "[", "]", ".", " ", "\"", "\\", ";", ":", "/", "-", "_", "\r", "\n", "\0", "\t",
        "\u{7F}",
        "\u{85}", "\u{2028}", "\u{FEFF}", "a", "Z", "0", "é", "e\u{301}", "\u{301}", "ß", "İ", "\u{1F33F}", "%22",
        "%0A", "--b",
    ]

    /// Returns any text, including control characters. Bytes that are not UTF-8 become U+FFFD. Half of the texts consist only of special
    /// texts.
    mutating func text() -> String {
        let isSpecial = bool()
        let bytes = bytes()
        guard isSpecial else { return String(decoding: bytes, as: UTF8.self) }
        return bytes.reduce(into: "") { $0 += Self.special[Int($1) % Self.special.count] }
    }

    /// Returns a text, or `nil`.
    mutating func optionalText() -> String? { bool() ? text() : nil }
}
