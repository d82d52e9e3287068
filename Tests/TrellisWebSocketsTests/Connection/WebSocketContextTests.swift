import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// The context of the compression follows what is on the wire, also when the tasks that send are cancelled (RFC 7692, section 7.2.1).
@Suite(.timeLimit(.minutes(3)))
struct WebSocketContextTests {
    private static func socket() async -> MockSocket {
        let compression = WebSocketCompression(threshold: 0)
        return await MockSocket(
            WebSocketOptions(compression: compression, pingInterval: nil), compression: WebSocketDeflate())
    }

    /// Returns what a server reads in the frames of the client.
    private static func read(_ frames: [ClientFrame]) -> ReadFrames {
        ReadFrames(frames.map(\.unmasked), compression: WebSocketDeflate())
    }

    /// A later message may not repeat bytes of a message that was not sent.
    @Test func aMessageThatIsNotSentIsNoPartOfTheContext() async throws {
        let mock = await Self.socket()
        mock.wire.setFull(true)
        let first = String(repeating: "first ", count: 100)
        let repeated = String(repeating: "repeated ", count: 100)
        let sender = Task { try await mock.socket.send(first) }
        try await mock.wire.waitForWriters(1)
        let cancelled = Task { try await mock.socket.send(repeated) }
        await mock.settle()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        mock.wire.setFull(false)
        try await sender.value
        try await mock.socket.send(repeated)
        let frames = mock.wire.frames
        #expect(frames.map(\.first) == [0xC1, 0xC1])
        let read = Self.read(frames)
        #expect(read.events == [.text(first), .text(repeated)] && read.violation == nil)
        await mock.shutDown()
    }

    /// A message that has begun is a part of the context, and is sent to its end.
    @Test func aMessageThatHasBegunIsAPartOfTheContext() async throws {
        let mock = await Self.socket()
        mock.wire.setFull(true)
        var random = SeededGenerator(seed: 15)
        let begun = (0..<600_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let next = Array(begun.suffix(10_000))
        let sender = Task { try await mock.socket.send(Data(begun)) }
        try await mock.wire.waitForWriters(1)
        sender.cancel()
        await #expect(throws: CancellationError.self) { try await sender.value }
        mock.wire.setFull(false)
        try await mock.socket.send(Data(next))
        let frames = mock.wire.frames
        #expect(frames.map(\.first) == [0x42, 0x00, 0x80, 0xC2])
        // The next message repeats the end of the one before.
        #expect(try #require(frames.last).payload.count < next.count / 2)
        let read = Self.read(frames)
        #expect(read.events == [.binary(begun), .binary(next)] && read.violation == nil)
        await mock.shutDown()
    }
}
