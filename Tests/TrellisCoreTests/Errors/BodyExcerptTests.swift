import FoundationEssentials
import Testing

@testable import TrellisCore

/// The size of the body excerpt that an error keeps, and of the part that its description shows.
struct BodyExcerptTests {
    typealias Excerpt = TrellisError.BodyExcerpt

    @Test(arguments: [(0, 0, false), (4096, 4096, false), (4097, 4096, true), (1 << 20, 4096, true)])
    func itIsBounded(_ count: Int, _ kept: Int, _ isCut: Bool) {
        let excerpt = Excerpt(Data(repeating: 0x61, count: count))
        #expect(excerpt.data.count == kept)
        #expect(excerpt.isCut == isCut)
    }

    @Test(arguments: 0...3)
    func aCutThroughACharacterLeavesText(_ shift: Int) throws {
        let text = String(repeating: "x", count: shift) + String(repeating: "🙂", count: 1200)
        let excerpt = Excerpt(Data(text.utf8))
        let shown = try #require(excerpt.text)
        #expect(text.hasPrefix(shown))
        #expect(shown.utf8.count > 4092 - 4)
    }

    @Test(arguments: [[0xFF, 0x61], [0x61, 0xC3], [0xC3, 0x28]] as [[UInt8]])
    func whatIsNoTextIsNotShown(_ bytes: [UInt8]) {
        #expect(Excerpt(Data(bytes)).text == nil)
        #expect(Excerpt(Data(bytes)).line(ofType: "") == nil)
    }

    @Test(
        arguments: [
            ("", nil), (" \r\n\t", nil), ("a\n\n  b", "a b"), ("a\u{7}\u{1B}[0m\u{9B}b\u{202E}c", "a[0mbc"),
            (String(repeating: "a", count: 300), String(repeating: "a", count: 300)),
            (String(repeating: "a", count: 301), String(repeating: "a", count: 300) + "…"),
        ] as [(String, String?)])
    func itIsShownAsOneLine(_ body: String, _ line: String?) {
        #expect(Excerpt(Data(body.utf8)).line(ofType: "") == line)
    }
}
