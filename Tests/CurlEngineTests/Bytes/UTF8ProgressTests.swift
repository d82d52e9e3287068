import CurlEngine
import Testing

struct UTF8ProgressTests {
    /// Returns whether bytes are a complete text, when they arrive in these pieces.
    private static func isText(_ pieces: [[UInt8]]) -> Bool {
        var progress = UTF8Progress()
        for piece in pieces where !progress.add(piece.span) { return false }
        return progress.isComplete
    }

    @Test func everyCharacterIsText() {
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var progress = UTF8Progress()
            let isAdded = progress.add(Array(String(scalar).utf8).span)
            guard isAdded, progress.isComplete else {
                Issue.record("\(value) is refused")
                return
            }
        }
    }

    /// All sequences of up to three bytes of the kinds that the rules distinguish, in one piece, byte by byte and behind ASCII, are
    /// compared with the standard library.
    @Test func theRulesAreThoseOfTheStandardLibrary() {
        let kinds: [UInt8] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        let ends: [[UInt8]] = [[], [0x80], [0xBF, 0x41]]
        for first in kinds {
            for second in kinds {
                for third in kinds {
                    for end in ends {
                        let bytes = [first, second, third] + end
                        let expected = String(validating: bytes, as: UTF8.self) != nil
                        let ascii = [UInt8](repeating: 0x20, count: 9)
                        guard Self.isText([bytes]) == expected, Self.isText(bytes.map { [$0] }) == expected,
                            Self.isText([ascii + bytes + ascii]) == expected
                        else {
                            Issue.record("\(bytes)")
                            return
                        }
                    }
                }
            }
        }
    }
}
