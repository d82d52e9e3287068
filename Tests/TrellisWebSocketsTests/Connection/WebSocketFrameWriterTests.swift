import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// The frames of the client (RFC 6455, sections 5.2 to 5.4).
struct WebSocketFrameWriterTests {
    /// Returns the frames of a message as a server reads them.
    private static func frames(
        _ message: WebSocketMessage, _ writer: inout WebSocketFrameWriter, threshold: Int = 1024
    ) throws -> [ClientFrame] {
        var outgoing = try writer.outgoing(message, threshold: threshold)
        let connection = MockConnection()
        while try writer.sendFrame(of: &outgoing, on: connection) != nil {}
        return connection.frames
    }

    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 4082, 4083, 65535, 65536, 262_144])
    func aMessageIsOneMaskedFrame(_ count: Int) throws {
        var writer = WebSocketFrameWriter(compression: nil)
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let frames = try Self.frames(.binary(Data(payload)), &writer)
        #expect(frames.map(\.first) == [0x82] && frames.first?.payload == payload)
    }

    @Test func aTextIsSentAsUTF8() throws {
        var writer = WebSocketFrameWriter(compression: nil)
        let frames = try Self.frames(.text("κόσμε"), &writer)
        #expect(frames.map(\.first) == [0x81] && frames.first?.payload == Array("κόσμε".utf8))
    }

    @Test func aSliceIsSentFromItsStart() throws {
        var writer = WebSocketFrameWriter(compression: nil)
        let frames = try Self.frames(.binary(Data([1, 2, 3, 4])[2...]), &writer)
        #expect(frames.first?.payload == [3, 4])
    }

    @Test func aLargeMessageIsSentInFragments() throws {
        var writer = WebSocketFrameWriter(compression: nil)
        let payload = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
        let frames = try Self.frames(.binary(Data(payload)), &writer)
        #expect(frames.map(\.first) == [0x02, 0x00, 0x80])
        #expect(frames.flatMap(\.payload) == payload)
        #expect(frames.allSatisfy { $0.payload.count <= WebSocketFrameWriter.largestFrame })
    }

    @Test func everyFrameHasAMaskOfItsOwn() throws {
        var writer = WebSocketFrameWriter(compression: nil)
        let frames = try (0..<500).flatMap { _ in try Self.frames(.text("same"), &writer) }
        #expect(Set(frames.map(\.mask)).count == 500)
    }

    @Test(
        arguments: [(.ping, 0x89, [1, 2, 3]), (.pong, 0x8A, []), (.close, 0x88, [3, 232])]
            as [(WebSocketFrameHead.Opcode, UInt8, [UInt8])])
    func controlFramesAreWritten(_ opcode: WebSocketFrameHead.Opcode, _ first: UInt8, _ payload: [UInt8]) throws {
        var writer = WebSocketFrameWriter(compression: nil)
        let frame = writer.control(opcode, payload)
        let frames = ClientFrame.all(in: Array(try #require(frame)))
        #expect(frames.map(\.first) == [first] && frames.first?.payload == payload)
    }

    @Test func messagesFromTheThresholdOnAreCompressed() throws {
        var writer = WebSocketFrameWriter(compression: WebSocketDeflate())
        let text = String(repeating: "a", count: 1024)
        #expect(try Self.frames(.text(String(text.dropLast())), &writer).map(\.first) == [0x81])
        let frames = try Self.frames(.text(text), &writer)
        #expect(frames.map(\.first) == [0xC1] && (frames.first?.payload.count ?? 0) < 50)
        try #require(!frames.isEmpty)
        let read = ReadFrames([frames[0].unmasked], compression: WebSocketDeflate())
        #expect(read.events == [.text(text)])
    }

    @Test func onlyTheFirstFragmentIsMarkedAsCompressed() throws {
        var writer = WebSocketFrameWriter(compression: WebSocketDeflate())
        var random = SeededGenerator(seed: 1)
        let payload = (0..<600_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let frames = try Self.frames(.binary(Data(payload)), &writer)
        #expect(frames.map(\.first) == [0x42, 0x00, 0x80])
        let read = ReadFrames(frames.map(\.unmasked), compression: WebSocketDeflate())
        #expect(read.events == [.binary(payload)])
    }

    @Test func theContextIsKeptFromMessageToMessage() throws {
        var writer = WebSocketFrameWriter(compression: WebSocketDeflate())
        var random = SeededGenerator(seed: 2)
        let payload = (0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let first = try Self.frames(.binary(Data(payload)), &writer)
        let second = try Self.frames(.binary(Data(payload)), &writer)
        try #require(!first.isEmpty && !second.isEmpty)
        #expect(first[0].payload.count > 1900 && second[0].payload.count < 100)
        let read = ReadFrames([first[0].unmasked, second[0].unmasked], compression: WebSocketDeflate())
        #expect(read.events == [.binary(payload), .binary(payload)])
    }
}
