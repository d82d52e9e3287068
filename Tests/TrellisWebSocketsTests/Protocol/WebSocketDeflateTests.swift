import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// The compression of messages (RFC 7692, section 7.2).
struct WebSocketDeflateTests {
    private static let plain = WebSocketDeflate()

    private static func deflate(bits: Int = 15, serverKeepsContext: Bool = true) -> WebSocketDeflate {
        var deflate = WebSocketDeflate()
        deflate.serverWindowBits = bits
        deflate.serverKeepsContext = serverKeepsContext
        return deflate
    }

    private static func compressed(_ text: String) throws -> [UInt8] {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        return Array(try deflater.deflate(Array(text.utf8).span))
    }

    @Test(
        "The examples of RFC 7692, section 7.2.3, are read",
        arguments: [
            // One block, and the same in two fragments.
            [[0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]],
            [[0x41, 0x03, 0xF2, 0x48, 0xCD], [0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00]],
            // A block without compression, a final block, and two blocks.
            [[0xC1, 0x0B, 0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]],
            [[0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]],
            [[0xC1, 0x0D, 0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]],
        ] as [[[UInt8]]])
    func examples(_ frames: [[UInt8]]) {
        #expect(ReadFrames(frames, compression: Self.plain).events == [.text("Hello")])
    }

    @Test func aMessageRepeatsBytesOfTheOneBefore() {
        let first: [UInt8] = [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        let second: [UInt8] = [0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00]
        #expect(ReadFrames([first, second], compression: Self.plain).events == [.text("Hello"), .text("Hello")])
        // Without the context, the bytes do not exist.
        let alone = ReadFrames([first, second], compression: Self.deflate(serverKeepsContext: false))
        #expect(alone.events == [.text("Hello")] && alone.code == 1007)
    }

    @Test func theContextOutlivesAFinalBlock() {
        let first: [UInt8] = [0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
        let second: [UInt8] = [0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00]
        #expect(ReadFrames([first, second], compression: Self.plain).events == [.text("Hello"), .text("Hello")])
    }

    @Test func plainMessagesAndControlFramesMayBeBetweenCompressedOnes() {
        let bytes =
            [0x41, 0x03, 0xF2, 0x48, 0xCD] + ServerFrame.ping() + [0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00]
            + ServerFrame.text("plain")
        #expect(ReadFrames([bytes], compression: Self.plain).events == [.ping(Data()), .text("Hello"), .text("plain")])
    }

    @Test(
        "RSV1 anywhere but on the first frame of a message fails with 1002",
        arguments: [[0x41, 0x00, 0xC0], [0xC9], [0xCA], [0xC8], [0xE1]] as [[UInt8]])
    func reservedBits(_ bytes: [UInt8]) {
        #expect(ReadFrames([bytes], compression: Self.plain).code == 1002)
    }

    @Test(
        "Bytes that are no blocks fail with 1007",
        arguments: [
            [0xFF, 0xFF], [0x07], [0x00, 0x05, 0x00, 0x00, 0x00, 0x61],
            // The message ends within a block.
            [], [0xF2, 0x48], [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48],
        ] as [[UInt8]])
    func corruptMessages(_ payload: [UInt8]) {
        #expect(ReadFrames([ServerFrame.frame(0xC2, payload)], compression: Self.plain).code == 1007)
    }

    @Test func textIsCheckedAfterDecompression() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        let payload = Array(try deflater.deflate([0x61, 0xED, 0xA0, 0x80].span))
        #expect(ReadFrames([ServerFrame.frame(0xC1, payload)], compression: Self.plain).code == 1007)
        #expect(ReadFrames([ServerFrame.frame(0xC2, payload)], compression: Self.plain).events.count == 1)
    }

    @Test func aBombIsStoppedAtTheLimit() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        let payload = Array(try deflater.deflate([UInt8](repeating: 0, count: 4 << 20).span))
        #expect(payload.count < 8 << 10)
        let read = ReadFrames([ServerFrame.frame(0xC2, payload)], message: 1 << 20, compression: Self.plain)
        #expect(read.code == 1009 && read.violation?.limit == 1 << 20)
        let allowed = ReadFrames([ServerFrame.frame(0xC2, payload)], message: 4 << 20, compression: Self.plain)
        #expect(allowed.events.count == 1)
    }

    @Test func aFloodOfFinalBlocksIsStopped() {
        // An empty final block with fixed codes is 0x03 0x00.
        let payload = [UInt8](Array(repeating: [0x03, 0x00], count: 2000).joined()) + [0x00]
        #expect(ReadFrames([ServerFrame.frame(0xC2, payload)], compression: Self.plain).code == 1007)
        let few = [UInt8](Array(repeating: [0x03, 0x00], count: 20).joined()) + [0x00]
        #expect(ReadFrames([ServerFrame.frame(0xC2, few)], compression: Self.plain).events == [.binary([])])
    }

    @Test(arguments: [true, false])
    func everyMessageMayEndWithAFinalBlock(_ serverKeepsContext: Bool) {
        let hello: [UInt8] = [0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
        let read = ReadFrames(
            Array(repeating: hello, count: 500), compression: Self.deflate(serverKeepsContext: serverKeepsContext))
        #expect(read.events.count == 500 && read.violation == nil)
    }

    @Test(arguments: 10...14)
    func aMessageThatRepeatsBytesFromOutsideTheWindowFails(_ bits: Int) throws {
        // The second message repeats the first one at a distance of one and a half windows.
        var random = SeededGenerator(seed: UInt64(bits))
        let message = (0..<3 << (bits - 1)).map { _ in UInt8.random(in: 0...255, using: &random) }
        let deflater = try #require(MessageDeflater(windowBits: bits + 1, keepsContext: true))
        let frames = try (0..<2).map { _ in ServerFrame.frame(0xC2, Array(try deflater.deflate(message.span))) }
        let wide = ReadFrames(frames, compression: Self.deflate(bits: bits + 1))
        #expect(wide.events == [.binary(message), .binary(message)] && frames[1].count < message.count / 2)
        let narrow = ReadFrames(frames, compression: Self.deflate(bits: bits))
        #expect(narrow.events == [.binary(message)] && narrow.code == 1007)
    }

    @Test(arguments: 8...15, [true, false])
    func whatIsCompressedFitsItsWindow(_ bits: Int, _ keepsContext: Bool) throws {
        let deflater = try #require(MessageDeflater(windowBits: bits, keepsContext: keepsContext))
        let inflater = try #require(MessageInflater(windowBits: bits, keepsContext: keepsContext))
        var random = SeededGenerator(seed: UInt64(bits))
        for round in 0..<Scale.count(25, all: 60) {
            // A few letters, so that every distance occurs; lengths from nothing to several windows.
            let count = round % 7 == 0 ? round / 7 : Int.random(in: 0...3000, using: &random)
            let letters = UInt8.random(in: 1...4, using: &random)
            let message = (0..<count).map { _ in UInt8.random(in: 0...letters, using: &random) }
            let compressed = Array(try deflater.deflate(message.span))
            #expect(!compressed.isEmpty)
            var result: [UInt8] = []
            let take = { (piece: Span<UInt8>) in
                for index in piece.indices { result.append(piece[index]) }
                return true
            }
            try inflater.inflate(compressed.span, into: take)
            try inflater.finish()
            #expect(result == message)
        }
    }

    @Test func emptyMessagesAreCompressed() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        for _ in 0..<3 {
            let payload = Array(try deflater.deflate([UInt8]().span))
            #expect(ReadFrames([ServerFrame.frame(0xC1, payload)], compression: Self.plain).events == [.text("")])
        }
    }
}
