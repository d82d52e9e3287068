import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// The limits on compressed frames and messages, which count the bytes on the wire before any are decompressed, and the defaults.
struct WebSocketLimitTests {
    private static let plain = WebSocketDeflate()
    /// The text "Hello" in a block without compression (RFC 7692, section 7.2.3.3): eleven bytes, which become five.
    private static let stored: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]

    @Test(
        "A compressed frame above a limit fails with 1009 at its length",
        arguments: [
            ("frame", [0xC1, 11], 10, 1 << 20), ("message", [0xC1, 11], 1 << 20, 10),
            ("first fragment", [0x41, 11], 10, 1 << 20), ("first fragment of a message", [0x42, 11], 1 << 20, 10),
            ("length of two bytes", [0xC2, 126, 0x04, 0x01], 1_024, 1 << 20),
            ("length of eight bytes", [0xC2, 127, 0, 0, 0, 0, 0x01, 0, 0, 0x01], 16 << 20, 16 << 20),
        ] as [(String, [UInt8], Int, Int)])
    func frames(_ name: String, _ head: [UInt8], _ frame: Int, _ message: Int) {
        let before = ReadFrames(
            [Array(head.dropLast())], frame: frame, message: message, compression: Self.plain)
        #expect(before == ReadFrames([]))
        // The bytes behind the head are no blocks, whose decompression would fail with 1007.
        for payload in [[], [UInt8](repeating: 0xFF, count: 11)] {
            let read = ReadFrames([head + payload], frame: frame, message: message, compression: Self.plain)
            #expect(read.code == 1009 && read.events == [])
            #expect(read.violation?.limit == min(frame, message))
        }
    }

    /// A message that would be within the limit after its decompression exceeds the limit on the wire.
    @Test func theBytesOnTheWireCount() {
        let whole = ServerFrame.frame(0xC1, Self.stored)
        #expect(ReadFrames([whole], frame: 11, message: 11, compression: Self.plain).events == [.text("Hello")])
        #expect(ReadFrames([whole], frame: 10, compression: Self.plain).code == 1009)
        #expect(ReadFrames([whole], message: 10, compression: Self.plain).code == 1009)
    }

    @Test func compressedFragmentsFailAtTheHeadThatExceedsTheLimit() {
        let first = ServerFrame.frame(0x41, Array(Self.stored[..<5]))
        let last = ServerFrame.frame(0x80, Array(Self.stored[5...]))
        let allowed = ReadFrames([first + last], frame: 6, message: 11, compression: Self.plain)
        #expect(allowed.events == [.text("Hello")])
        #expect(ReadFrames([first], message: 10, compression: Self.plain) == ReadFrames([]))
        for rest in [Array(last.prefix(2)), last] {
            let read = ReadFrames([first + rest], message: 10, compression: Self.plain)
            #expect(read.code == 1009 && read.events == [] && read.violation?.limit == 10)
            let long = ReadFrames([first + rest], frame: 5, compression: Self.plain)
            #expect(long.code == 1009 && long.events == [] && long.violation?.limit == 5)
        }
    }

    @Test(arguments: [[0xC1, 11], [0x41, 5, 0x00, 0x05, 0x00, 0xFA, 0xFF, 0x80, 6]] as [[UInt8]])
    func theServerIsToldThatACompressedMessageIsTooLarge(_ bytes: [UInt8]) async throws {
        let mock = await MockSocket(WebSocketOptions(maximumMessageSize: 10), compression: Self.plain)
        mock.wire.send(bytes)
        let failure = await webSocketFailure { _ = try await mock.socket.receive() }
        #expect(failure == .tooLarge(limit: 10))
        let close = try await mock.wire.frames(1)[0]
        #expect(close.first == 0x88 && Array(close.payload.prefix(2)) == [0x03, 0xF1])
        mock.wire.end()
        await mock.shutDown()
    }

    // MARK: Defaults

    @Test func theDefaultsAreThoseOfTheDocumentation() {
        let options = WebSocketOptions()
        #expect(options.maximumMessageSize == 16_777_216 && options.maximumFrameSize == nil)
        #expect(options.compression == WebSocketCompression() && options.compression?.threshold == 1_024)
    }

    /// Without a limit of their own, frames have that on messages.
    @Test(arguments: [nil, WebSocketDeflate()] as [WebSocketDeflate?])
    func aFrameOf16MiBIsAllowedByDefault(_ compression: WebSocketDeflate?) async throws {
        let first: UInt8 = compression == nil ? 0x82 : 0xC2
        for (last, expected) in [
            (0x00, .lost("the server ended the connection")), (0x01, .tooLarge(limit: 16_777_216)),
        ] as [(UInt8, TrellisError.WebSocketFailure)] {
            let mock = await MockSocket(compression: compression)
            mock.wire.send([first, 127, 0, 0, 0, 0, 0x01, 0, 0, last])
            mock.wire.end()
            let failure = await webSocketFailure { _ = try await mock.socket.receive() }
            #expect(failure == expected)
            await mock.shutDown()
        }
    }

    @Test func messagesAreCompressedFrom1024BytesOn() async throws {
        let mock = await MockSocket(compression: Self.plain)
        for count in [1_023, 1_024] { try await mock.socket.send(String(repeating: "a", count: count)) }
        let frames = try await mock.wire.frames(2)
        #expect(frames.map(\.first) == [0x81, 0xC1])
        #expect(frames[0].payload.count == 1_023 && frames[1].payload.count < 100)
        await mock.shutDown()
    }
}
