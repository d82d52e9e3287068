import FoundationEssentials

/// Decisions that the bytes of an input make, one after the other. When they are used up, every one is the first there is.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// No more bytes.
    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bool() -> Bool { byte() & 1 != 0 }

    /// Less than `count`, which is 256 at most.
    mutating func number(below count: Int) -> Int { Int(byte()) % count }

    mutating func element<Element>(of all: [Element]) -> Element { all[number(below: all.count)] }

    mutating func bits() -> UInt64 { (0..<8).reduce(0) { bits, _ in bits << 8 | UInt64(byte()) } }

    /// Up to 23 bytes, or up to 255.
    mutating func bytes() -> [UInt8] {
        let length = byte()
        let taken = rest.prefix(length < 240 ? Int(length) % 24 : Int(byte()))
        rest = rest.dropFirst(taken.count)
        return Array(taken)
    }

    /// Any text, control characters included; bytes that are none become U+FFFD.
    mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }

    /// A text, or nothing.
    mutating func optionalText() -> String? { bool() ? text() : nil }
}
