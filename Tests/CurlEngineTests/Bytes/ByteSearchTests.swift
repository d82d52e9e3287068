import FoundationEssentials
import Testing

@testable import CurlEngine

/// A search for bytes finds them in the span, and never beyond the end of the span.
struct ByteSearchTests {
    private static func offset(of byte: UInt8, in bytes: [UInt8], from start: Int = 0) -> Int {
        bytes.span.offset(of: byte, from: start)
    }

    @Test(
        arguments: [
            ([], 1, 0, 0), ([1], 1, 0, 0), ([1], 1, 1, 1), ([1], 2, 0, 1), ([1, 2, 1], 1, 1, 2), ([1, 2, 1], 1, 9, 3),
            ([255, 128], 128, 0, 1),
        ] as [([UInt8], UInt8, Int, Int)])
    func aByteIsFoundOrTheEnd(_ bytes: [UInt8], _ byte: UInt8, _ start: Int, _ offset: Int) {
        #expect(Self.offset(of: byte, in: bytes, from: start) == offset)
    }

    @Test func nothingBeyondTheSpanIsFound() {
        let bytes: [UInt8] = [1, 2, 3, 4]
        let offset = bytes.span.extracting(0..<2).offset(of: 3)
        #expect(offset == 2)
    }

    @Test(arguments: [(0, true), (1, false), (2, false), (3, false), (9, false), (-1, false)])
    func bytesStandWhereTheyStand(_ offset: Int, _ doMatch: Bool) {
        let bytes: [UInt8] = [1, 2, 3, 1]
        let other: [UInt8] = [1, 2]
        let isMatch = bytes.span.matches(other.span, at: offset)
        #expect(isMatch == doMatch)
    }

    @Test(arguments: ["\u{212A}", "\u{130}", "\u{17F}", "\u{C5}", "\u{FF2B}", "k\u{301}"])
    func lettersOfASCIIAloneHaveACase(_ text: String) {
        #expect(Array("K\(text)Z@[".lowercasedASCII().utf8) == Array("k\(text)z@[".utf8))
        #expect("A\(text)".hasSameToken(as: "a\(text)"[...]))
        #expect(!text.hasSameToken(as: "k"))
    }

    @Test func noBytesStandEverywhere() {
        let none: [UInt8] = []
        let one: [UInt8] = [1]
        let matches = (none.span.matches(none.span, at: 0), one.span.matches(none.span, at: 1))
        #expect(matches == (true, true))
    }

    @Test func copiesAreWhole() {
        let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0xBC]
        let (array, data, text) = ([UInt8](copying: bytes.span), Data(copying: bytes.span), String(utf8: bytes.span))
        #expect(array == bytes)
        #expect(data == Data(bytes))
        #expect(text == "a\u{FFFD}ü")
        var all: [UInt8] = [0]
        all.append(copying: bytes.span.extracting(1...))
        #expect(all == [0, 0xFF, 0xC3, 0xBC])
    }
}
