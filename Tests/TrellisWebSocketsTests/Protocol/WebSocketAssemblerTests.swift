import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisWebSockets

/// The rules about fragments, control frames, text and closing (RFC 6455, sections 5.4, 5.5, 7.4 and 8.1).
struct WebSocketAssemblerTests {
    @Test func fragmentsBecomeOneMessage() {
        let bytes =
            ServerFrame.text("a", first: 0x01) + ServerFrame.text("", first: 0x00) + ServerFrame.text("b", first: 0x80)
        #expect(ReadFrames([bytes]).events == [.text("ab")])
    }

    @Test func controlFramesBetweenFragmentsAreEventsAtOnce() {
        let bytes =
            ServerFrame.text("a", first: 0x01) + ServerFrame.ping([1]) + ServerFrame.text("b", first: 0x00)
            + ServerFrame.pong([2]) + ServerFrame.text("c", first: 0x80)
        #expect(ReadFrames([bytes]).events == [.ping(Data([1])), .pong(Data([2])), .text("abc")])
    }

    @Test func emptyMessagesAreMessages() {
        #expect(ReadFrames([ServerFrame.text("") + ServerFrame.binary([])]).events == [.text(""), .binary([])])
        let fragments = ServerFrame.text("", first: 0x01) + ServerFrame.text("", first: 0x80)
        #expect(ReadFrames([fragments]).events == [.text("")])
    }

    @Test func messagesOfOneChunkDoNotShareABuffer() throws {
        let bytes = ServerFrame.binary([1, 2]) + ServerFrame.binary([3])
        guard case .message(.binary(let data)) = try #require(ReadFrames([bytes]).events.last) else { return }
        #expect(data.startIndex == 0 && Array(data) == [3])
    }

    @Test(arguments: ["κόσμε", "\u{FFFF}\u{10FFFF}", "😀", "\u{0}\u{80}\u{800}\u{10000}", "ẞ\u{D7FF}\u{E000}"])
    func charactersMayBeCutByFragments(_ text: String) {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            let frames =
                ServerFrame.frame(0x01, Array(bytes[..<cut])) + ServerFrame.ping()
                + ServerFrame.frame(0x80, Array(bytes[cut...]))
            #expect(ReadFrames([frames]).events == [.ping(Data()), .text(text)])
        }
    }

    @Test(
        "Text that is not UTF-8 fails with 1007 at the first bad byte, although the frame has not ended",
        arguments: [
            [0x80], [0xBF], [0xC0], [0xC1], [0xF5], [0xFE], [0xFF],
            [0xC2, 0x00], [0xC2, 0xC0], [0xE0, 0x9F], [0xE0, 0xC0], [0xE1, 0x80, 0x41], [0xED, 0xA0], [0xED, 0xBF],
            [0xF0, 0x8F], [0xF4, 0x90], [0xF1, 0x80, 0x80, 0xC0], [0xF1, 0x41],
            Array("κόσμε".utf8) + [0xF4, 0x90], Array(repeating: 0x61, count: 40) + [0xED, 0xA0],
        ] as [[UInt8]])
    func badText(_ text: [UInt8]) {
        // The frame announces more bytes than have come.
        let head: [UInt8] = [0x81, 125]
        #expect(ReadFrames([head + text.dropLast()]) == ReadFrames([]))
        #expect(ReadFrames([head + text]).code == 1007)
        let fragments = ServerFrame.frame(0x01, Array(text.dropLast())) + [0x80, 125] + text.suffix(1)
        #expect(ReadFrames([fragments]).code == 1007)
    }

    @Test(arguments: [[0xC2], [0xE1, 0x80], [0xF1, 0x80, 0x80]] as [[UInt8]])
    func aTextThatEndsWithinACharacterFailsAtItsEnd(_ bytes: [UInt8]) {
        #expect(ReadFrames([ServerFrame.frame(0x81, bytes)]).code == 1007)
        #expect(ReadFrames([ServerFrame.frame(0x01, bytes)]).code == nil)
        #expect(ReadFrames([ServerFrame.frame(0x01, bytes) + ServerFrame.frame(0x80, [])]).code == 1007)
        // The next message begins a text of its own.
        #expect(ReadFrames([ServerFrame.binary(bytes) + ServerFrame.text("a")]).events.count == 2)
    }

    @Test(
        arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
            as [UInt16])
    func aCloseCodeThatFramesMayHaveIsAccepted(_ code: UInt16) {
        #expect(ReadFrames([ServerFrame.close(code, "bye")]).events == [.close(code, "bye")])
    }

    @Test(arguments: [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] as [UInt16])
    func anyOtherCloseCodeFailsWith1002(_ code: UInt16) {
        #expect(ReadFrames([ServerFrame.close(code)]).code == 1002)
    }

    @Test func aCloseFrameWithoutACodeHas1005() {
        #expect(ReadFrames([ServerFrame.close()]).events == [.close(1005)])
    }

    @Test func halfACloseCodeFailsWith1002() {
        #expect(ReadFrames([ServerFrame.frame(0x88, [3])]).code == 1002)
    }

    @Test func aReasonThatIsNotTextFailsWith1007() {
        #expect(ReadFrames([ServerFrame.frame(0x88, [3, 0xE8, 0xFF])]).code == 1007)
        #expect(ReadFrames([ServerFrame.frame(0x88, [3, 0xE8, 0xC3])]).code == 1007)
    }

    @Test func theLongestReasonIsRead() {
        let reason = String(repeating: "r", count: 123)
        #expect(ReadFrames([ServerFrame.close(1000, reason)]).events == [.close(1000, reason)])
    }

    @Test func nothingIsReadAfterACloseFrame() {
        let bytes = ServerFrame.close(1000) + ServerFrame.text("late") + [0xFF, 0xFF, 0xFF]
        #expect(ReadFrames([bytes]) == ReadFrames([ServerFrame.close(1000)]))
        #expect(ReadFrames([ServerFrame.close(1000), [0xFF], [0xFF]]).violation == nil)
    }

    @Test func aCloseFrameWithinAMessageIsRead() {
        #expect(ReadFrames([ServerFrame.text("a", first: 1) + ServerFrame.close(1001)]).events == [.close(1001)])
    }
}
