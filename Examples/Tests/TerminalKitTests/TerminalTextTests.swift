import TerminalKit
import Testing

/// The line that is typed while messages arrive, and text in other encodings.
@Suite struct TerminalTextTests {
    private static func typed(_ bytes: [UInt8]) -> (lines: [String], rest: String, isEnd: Bool) {
        var line = PromptLine(), lines: [String] = []
        for byte in bytes {
            switch line.take(byte) {
            case .nothing: break
            case .line(let bytes): lines.append(String(decoding: bytes, as: UTF8.self))
            case .end: return (lines, String(decoding: line.bytes, as: UTF8.self), true)
            }
        }
        return (lines, String(decoding: line.bytes, as: UTF8.self), false)
    }

    @Test(arguments: [
        ("ab\nc", ["ab"], "c"), ("ab\u{7F}c", [], "ac"), ("aü\u{7F}\u{7F}b", [], "b"), ("\u{7F}a", [], "a"),
        ("one two\u{17}x", [], "one x"), ("one  \u{17}x", [], "x"), ("abc\u{15}d\r", ["d"], ""), ("a\u{4}b", [], "ab"),
        ("a\u{1B}[Db\u{1B}OPc\u{1B}[1;5Cd", [], "abcd"), ("\n\n", ["", ""], ""), ("a\u{1}\tb", [], "a\tb"),
    ])
    func aLineIsTyped(_ keys: String, _ lines: [String], _ rest: String) {
        let result = Self.typed(Array(keys.utf8))
        #expect(result.lines == lines && result.rest == rest && !result.isEnd)
    }

    @Test func controlDOnAnEmptyLineIsTheEnd() {
        let result = Self.typed(Array("a\n\u{4}b".utf8))
        #expect(result.lines == ["a"] && result.isEnd)
    }

    @Test(
        arguments: [
            ("iso-8859-1", [[0x68, 0xE9]], "hé"), ("windows-1251", [[0xCF], [0xF0]], "Пр"),
            ("gbk", [[0xC4], [0xE3, 0xBA], [0xC3]], "你好"), ("Shift_JIS", [[0x87, 0x40]], "①"),
            ("gbk", [[0x61, 0xFF, 0x62]], "a\u{FFFD}b"),
        ] as [(String, [[UInt8]], String)])
    func textInItsCharset(_ charset: String, _ pieces: [[UInt8]], _ wanted: String) throws {
        let text = try #require(CharsetText(charset: charset))
        #expect(String(decoding: pieces.flatMap { text.utf8($0) }, as: UTF8.self) == wanted)
    }

    @Test(arguments: ["utf-8", "UTF8", "us-ascii", "klingon", ""]) func otherCharsetsNeedNoConversion(_ charset: String)
    {
        #expect(CharsetText(charset: charset) == nil)
    }
}
