import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisWebSockets

/// The rules about single frames (RFC 6455, section 5.2).
struct WebSocketFrameParserTests {
    @Test(
        "The examples of RFC 6455, section 5.7, are read",
        arguments: [
            ([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], .text("Hello")),
            ([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], .text("Hello")),
            ([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], .ping(Data("Hello".utf8))),
        ] as [([UInt8], WebSocketEvent)])
    func examples(_ bytes: [UInt8], _ event: WebSocketEvent) {
        let read = ReadFrames([bytes])
        #expect(read.violation == nil)
        #expect(read.events == [event])
    }

    @Test func theLongExamplesAreRead() {
        let small = [UInt8](repeating: 7, count: 256), large = [UInt8](repeating: 7, count: 65536)
        #expect(ReadFrames([[0x82, 0x7E, 0x01, 0x00] + small]).events == [.binary(small)])
        #expect(ReadFrames([[0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large]).events == [.binary(large)])
    }

    @Test(arguments: [0, 1, 125, 126, 127, 65535, 65536, 70000])
    func everyFormOfTheLengthIsRead(_ count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        #expect(ReadFrames([ServerFrame.binary(payload)]).events == [.binary(payload)])
    }

    @Test(
        "A frame that breaks a rule fails with 1002",
        arguments: [
            ("masked", [0x81, 0x80]), ("masked, long", [0x82, 0xFE]),
            ("RSV1 without compression", [0xC1]), ("RSV2", [0xA1]), ("RSV3", [0x91]), ("all of them", [0xF1]),
            ("RSV1 in a control frame", [0xC9]),
            ("opcode 3", [0x83]), ("opcode 7", [0x87]), ("opcode 11", [0x8B]), ("opcode 15", [0x8F]),
            ("opcode 3, not final", [0x03]),
            ("fragmented ping", [0x09]), ("fragmented pong", [0x0A]), ("fragmented close", [0x08]),
            ("ping with 126 bytes", [0x89, 126]), ("close with a long length", [0x88, 127]),
            ("125 in two bytes", [0x82, 126, 0, 125]), ("0 in two bytes", [0x82, 126, 0, 0]),
            ("65535 in eight bytes", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
            ("125 in eight bytes", [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 125]),
            ("2^63", [0x82, 127, 0x80]), ("2^64 - 1", [0x82, 127, 0xFF]),
            ("continuation of nothing", [0x80, 0]), ("continuation of nothing, not final", [0x00, 0]),
            ("a message within a message", [0x01, 1, 0x61, 0x81, 0]),
            ("a binary message within a text", [0x01, 1, 0x61, 0x02, 0]),
        ] as [(String, [UInt8])])
    func violations(_ name: String, _ bytes: [UInt8]) {
        // The last byte is the one that breaks the rule.
        #expect(ReadFrames([Array(bytes.dropLast())]) == ReadFrames([]))
        let read = ReadFrames([bytes])
        #expect(read.code == 1002 && read.events == [])
    }

    @Test(
        "A length above the limit fails with 1009, before any of the payload has come",
        arguments: [
            ([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 16 << 20, 16 << 20),
            ([0x82, 126, 0x04, 0x01], 1024, 1 << 20), ([0x82, 126, 0x04, 0x01], 1 << 20, 1024),
            ([0x82, 11], 10, 1 << 20), ([0x02, 5, 1, 2, 3, 4, 5, 0x80, 6], 1 << 20, 10),
        ] as [([UInt8], Int, Int)])
    func limits(_ bytes: [UInt8], _ frame: Int, _ message: Int) {
        let read = ReadFrames([bytes], frame: frame, message: message)
        #expect(read.code == 1009 && read.events == [])
        #expect(read.violation?.limit == min(frame, message))
    }

    @Test func messagesAtTheLimitAreRead() {
        let payload = [UInt8](repeating: 1, count: 1000)
        #expect(ReadFrames([ServerFrame.binary(payload)], frame: 1000, message: 1000).events == [.binary(payload)])
        let halves = ServerFrame.frame(0x02, Array(payload[..<500])) + ServerFrame.frame(0x80, Array(payload[500...]))
        #expect(ReadFrames([halves], frame: 500, message: 1000).events == [.binary(payload)])
    }

    @Test func aControlFrameIsNotUnderTheLimits() {
        let payload = [UInt8](repeating: 1, count: 125)
        #expect(ReadFrames([ServerFrame.ping(payload)], frame: 10, message: 10).events == [.ping(Data(payload))])
    }
}
