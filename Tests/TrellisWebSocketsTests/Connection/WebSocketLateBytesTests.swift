import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// Bytes of a server behind its Close frame, after which no bytes mean anything (RFC 6455, section 5.5.1).
@Suite(.timeLimit(.minutes(3)))
struct WebSocketLateBytesTests {
    /// The bytes behind the Close frame, by their names.
    static let late: [(String, [UInt8])] = [
        ("a message", ServerFrame.text("late")), ("a ping", ServerFrame.ping([1])),
        ("another Close frame", ServerFrame.close(1011, "late")), ("no frame", [0xFF, 0xFF, 0xFF]),
        ("a masked frame", [0x81, 0x80]), ("a length of 2^63", [0x82, 127, 0x80]),
    ]

    /// The late bytes are in the chunk of the Close frame, or in the next one.
    @Test(arguments: late, [true, false])
    func theServersCloseFrameIsItsLast(_ late: (String, [UInt8]), _ isSameChunk: Bool) async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        let last = ServerFrame.text("last") + ServerFrame.close(1000, "bye")
        if isSameChunk { mock.wire.send(last + late.1) } else { mock.wire.send(last, late.1) }
        #expect(try await mock.socket.receive() == .text("last"))
        #expect(try await mock.socket.receive() == nil)
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        #expect(try await mock.socket.receive() == nil)
        #expect(mock.socket.closeCode == .normalClosure && mock.socket.closeReason == "bye")
        // The answer to the Close frame, and nothing else.
        #expect(mock.wire.frames.map(\.first) == [0x88])
        await mock.shutDown()
    }

    /// The same after the server's answer to the Close frame of this side.
    @Test(arguments: late, [true, false])
    func theServersAnswerIsItsLast(_ late: (String, [UInt8]), _ isSameChunk: Bool) async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        let closing = Task { try await mock.socket.close() }
        let code = try await mock.wire.frames(1)[0].payload
        let close = ServerFrame.frame(0x88, code)
        if isSameChunk { mock.wire.send(close + late.1) } else { mock.wire.send(close, late.1) }
        mock.wire.end()
        try await closing.value
        #expect(try await mock.socket.receive() == nil)
        #expect(mock.socket.closeCode == .normalClosure && mock.wire.frames.map(\.first) == [0x88])
        await mock.shutDown()
    }
}
