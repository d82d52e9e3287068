import CurlEngine
import FoundationEssentials
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisWebSockets

/// A byte that no text has, at each place of a text: the connection fails with 1007 as soon as the byte comes, and not before.
struct WebSocketTextTests {
    /// Characters of one to four bytes, before and after runs of ASCII that are checked many bytes at a time.
    private static let text = Array(
        (String(repeating: "a", count: 33) + "κ€😀é" + String(repeating: "b", count: 20) + "\u{10FFFF}ẞ").utf8)

    /// Returns the text up to a place, and in the place a byte that is bad after anything.
    private static func broken(at place: Int) -> [UInt8] { Array(text[..<place]) + [0xFF] }

    @Test(arguments: text.indices)
    func aBadByteFailsWhenItComes(_ place: Int) {
        // The frame announces more bytes than have come.
        let head: [UInt8] = [0x81, 125]
        #expect(ReadFrames([head + Self.text[..<place]]).violation == nil)
        #expect(ReadFrames([head + Self.broken(at: place)]).code == 1007)
        let single = (head + Self.broken(at: place)).map { [$0] }
        #expect(ReadFrames(single).code == 1007)
    }

    @Test(arguments: text.indices)
    func aBadByteInAFragmentOfItsOwnFails(_ place: Int) {
        let before = ServerFrame.frame(0x01, Array(Self.text[..<place]))
        #expect(ReadFrames([before]).violation == nil)
        #expect(ReadFrames([before + ServerFrame.ping() + ServerFrame.frame(0x00, [0xFF])]).code == 1007)
    }

    @Test(arguments: text.indices)
    func aBadByteOfACompressedTextFails(_ place: Int) throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        let payload = Array(try deflater.deflate(Self.broken(at: place).span))
        let outcome = ReadFrames([ServerFrame.frame(0xC1, payload)], compression: WebSocketDeflate())
        #expect(outcome.code == 1007 && outcome.events.isEmpty)
    }
}
