import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// The events do not depend on where the bytes of a connection are cut.
struct WebSocketChunkingTests {
    private static let deflate = WebSocketDeflate()

    /// Pieces of conversations, right ones and wrong ones.
    private static let alphabet: [[UInt8]] = [
        ServerFrame.text("κόσμε"), ServerFrame.text("a", first: 0x01), ServerFrame.text("", first: 0x00),
        ServerFrame.text("end", first: 0x80), ServerFrame.binary([1, 2, 3]), ServerFrame.ping([1]), ServerFrame.pong(),
        ServerFrame.binary([UInt8](repeating: 9, count: 200)), ServerFrame.frame(0x01, [0xF0, 0x9F]),
        ServerFrame.frame(0x80, [0x98, 0x80]), ServerFrame.frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]),
        ServerFrame.frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00]), ServerFrame.frame(0x41, [0xF2, 0x48]),
        ServerFrame.frame(0x80, [0xCD, 0xC9, 0xC9, 0x07, 0x00]),
    ]
    private static let mistakes: [[UInt8]] = [
        [0x83], [0x81, 0x85], [0x82, 127, 0x80], ServerFrame.frame(0x81, [0xED, 0xA0, 0x80]), ServerFrame.close(1005),
        ServerFrame.close(1000), ServerFrame.frame(0xC2, [0xFF, 0xFF]), [0x82, 126, 0, 1], [0x00],
    ]

    @Test(arguments: 0..<300 as Range<UInt64>)
    func anyCutsGiveTheSameEvents(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Cuts.bytes(of: Self.alphabet, upTo: 12, &random)
        if seed % 2 == 0 { bytes += Cuts.bytes(of: Self.mistakes, upTo: 2, &random) }
        let compression = seed % 3 == 0 ? nil : Self.deflate
        let limit = seed % 5 == 0 ? 150 : 1 << 20
        let whole = ReadFrames([bytes], message: limit, compression: compression)
        for pieces in [bytes.map { [$0] }] + (0..<3).map({ _ in Cuts.random(bytes, longest: 9, &random) }) {
            #expect(ReadFrames(pieces, message: limit, compression: compression) == whole)
        }
    }

    @Test func aConversationIsReadAtEveryCut() {
        let bytes =
            ServerFrame.text("a", first: 0x01) + ServerFrame.ping([7]) + ServerFrame.frame(0x80, Array("κ".utf8))
            + ServerFrame.binary([UInt8](repeating: 1, count: 130)) + ServerFrame.close(1000, "é")
        let whole = ReadFrames([bytes])
        #expect(whole.events.count == 4 && whole.violation == nil)
        for pieces in Cuts.all(bytes) { #expect(ReadFrames(pieces) == whole) }
    }
}
