import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Text in pieces, none of which ends within a code point.
struct StringJoinerTests {
    static let texts: [[UInt8]] = [
        [], Array("plain".utf8), Array("grün, 日本, 🏳️‍🌈, e\u{301}".utf8), Array("\u{FEFF}mark".utf8), [0],
        // Invalid sequences: cut short, too long, overlong, surrogates, beyond the last code point, stray bytes.
        [0xE2], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0x80, 0x80], [0xC0, 0xAF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
        [0xED, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80],
        [0xF4, 0x8F, 0xBF, 0xBF], [0xF5, 0x80], [0xFF, 0xFE], [0xE2, 0x41], [0xE2, 0x82, 0x41], [0xC2, 0xC2, 0x80],
        [0xF0, 0x9F, 0xF0, 0x9F, 0x98, 0x80], [0x41, 0x80, 0x80, 0x80, 0x80, 0xE2],
    ]

    @Test(arguments: texts)
    func piecesTogetherAreTheWhole(_ bytes: [UInt8]) {
        let whole = String(decoding: bytes, as: UTF8.self)
        for pieces in Cuts.all(bytes) {
            let run = MachineRun(StringJoiner(), pieces)
            #expect(run.outputs.joined() == whole, "\(pieces)")
            #expect(!run.outputs.contains(""))
        }
    }

    @Test(arguments: 0..<100)
    func randomBytesCutAtRandomAreTheSame(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Self.texts.filter { !$0.isEmpty } + (0xC0...0xFF).map { [$0] } + (0x7F...0xBF).map { [$0] }
        let bytes = Cuts.bytes(of: alphabet, upTo: 60, &random)
        let pieces = Cuts.random(bytes, longest: 5, &random)
        #expect(MachineRun(StringJoiner(), pieces).outputs.joined() == String(decoding: bytes, as: UTF8.self))
    }

    @Test func aCodePointThatIsNotThereYetIsWaitedFor() {
        let run = MachineRun(StringJoiner(), [[0x61, 0xE2], [0x82], [0xAC, 0x62]])
        #expect(run.outputs == ["a", "€b"])
    }

    @Test func whatCannotBecomeACodePointIsNotWaitedFor() {
        #expect(MachineRun(StringJoiner(), [[0x61, 0xED, 0xA0], [0x62]]).outputs == ["a\u{FFFD}\u{FFFD}", "b"])
    }
}
