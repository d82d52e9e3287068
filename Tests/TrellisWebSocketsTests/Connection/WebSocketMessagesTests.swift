import CurlEngine
import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// Messages of an open connection, in both directions.
struct WebSocketMessagesTests {
    @Test func messagesAreReadInTheirOrder() async throws {
        let mock = await MockSocket()
        mock.wire.send(
            ServerFrame.text("a") + ServerFrame.binary([1, 2]), ServerFrame.text("b"), ServerFrame.close(1000))
        var messages: [WebSocketMessage] = []
        for try await message in mock.socket.messages { messages.append(message) }
        #expect(messages == [.text("a"), .binary(Data([1, 2])), .text("b")])
        #expect(mock.socket.closeCode == .normalClosure)
        await mock.shutDown()
    }

    @Test func aReaderWaitsForTheNextMessage() async throws {
        let mock = await MockSocket()
        async let message = mock.socket.receive()
        try await mock.wire.waitUntilRead()
        mock.wire.send(ServerFrame.text("late", first: 0x01), ServerFrame.frame(0x80, Array("r".utf8)))
        #expect(try await message == .text("later"))
        await mock.shutDown()
    }

    /// Of several callers, one reads the connection, and the others wait for it.
    @Test func eachCallerGetsAMessageOfOneChunk() async throws {
        let mock = await MockSocket()
        let callers = (0..<4).map { _ in Task { try await mock.socket.receive()?.text } }
        try await mock.wire.waitUntilRead()
        mock.wire.send((0..<4).flatMap { ServerFrame.text("\($0)") })
        var texts: Set<String> = []
        for caller in callers { if let text = try await caller.value { texts.insert(text) } }
        #expect(texts == ["0", "1", "2", "3"])
        await mock.shutDown()
    }

    /// The caller that reads the connection hands it over when it is cancelled.
    @Test func aCancelledCallerLeavesTheMessageToTheNext() async throws {
        let mock = await MockSocket()
        let first = Task { try await mock.socket.receive() }
        try await mock.wire.state.wait { $0.hasReader }
        let second = Task { try await mock.socket.receive() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        mock.wire.send(ServerFrame.text("kept"))
        #expect(try await second.value == .text("kept"))
        await mock.shutDown()
    }

    /// The end of the connection is found without a caller that receives.
    @Test func theServersCloseIsFoundWhileNobodyReceives() async throws {
        let mock = await MockSocket()
        mock.wire.send(ServerFrame.text("unread"), ServerFrame.close(1001))
        #expect(try await mock.wire.frames(1).map(\.first) == [0x88])
        #expect(try await mock.socket.receive() == .text("unread"))
        #expect(try await mock.socket.receive() == nil)
        // The answer is sent a moment before the code is there.
        #expect(mock.socket.closeCode == .goingAway)
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }

    /// The caller that has received the Close frame does not read on, but the server's end is found.
    @Test(.timeLimit(.minutes(3))) func theServersEndIsFoundAfterItsClose() async throws {
        let mock = await MockSocket()
        async let message = mock.socket.receive()
        try await mock.wire.state.wait { $0.hasReader }
        mock.wire.send(ServerFrame.close(1000))
        #expect(try await message == nil)
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }

    @Test func messagesAreSentAsFrames() async throws {
        let mock = await MockSocket()
        try await mock.socket.send("text")
        try await mock.socket.send(Data([1, 2, 3]))
        try await mock.socket.send(.text(""))
        let frames = try await mock.wire.frames(3)
        #expect(frames.map(\.first) == [0x81, 0x82, 0x81])
        #expect(frames.map(\.payload) == [Array("text".utf8), [1, 2, 3], []])
        await mock.shutDown()
    }

    @Test func compressedMessagesPassInBothDirections() async throws {
        let mock = await MockSocket(
            WebSocketOptions(compression: WebSocketCompression(threshold: 10)), compression: .init())
        let text = String(repeating: "ab", count: 500)
        try await mock.socket.send(text)
        try await mock.socket.send("short")
        let frames = try await mock.wire.frames(2)
        #expect(frames.map(\.first) == [0xC1, 0x81] && frames[0].payload.count < 100)
        mock.wire.send(frames[0].unmasked)
        #expect(try await mock.socket.receive() == .text(text))
        await mock.shutDown()
    }

    @Test func nothingIsReadBeyondTheMark() async throws {
        let mock = await MockSocket()
        for index in 0..<200 { mock.wire.send(ServerFrame.text("\(index)")) }
        // The task that reads stops: one message of a chunk of its own is read at a time.
        try await mock.wire.state.wait { $0.readCount == WebSocketInbox.mark.count }
        await mock.settle()
        #expect(mock.wire.state.value.readCount == WebSocketInbox.mark.count)
        for index in 0..<200 { #expect(try await mock.socket.receive() == .text("\(index)")) }
        await mock.shutDown()
    }

    @Test func largeMessagesCountByTheirBytes() async throws {
        let mock = await MockSocket()
        let payload = [UInt8](repeating: 1, count: 100 << 10)
        for _ in 0..<10 { mock.wire.send(ServerFrame.binary(payload)) }
        try await mock.wire.state.wait { $0.readCount == 3 }
        await mock.settle()
        #expect(mock.wire.state.value.readCount == 3)
        for _ in 0..<10 { #expect(try await mock.socket.receive() == .binary(Data(payload))) }
        await mock.shutDown()
    }

    @Test func aCancelledReaderLeavesTheMessageToTheNext() async throws {
        let mock = await MockSocket()
        let reader = Task { try await mock.socket.receive() }
        try await mock.wire.waitUntilRead()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        mock.wire.send(ServerFrame.text("a"))
        #expect(try await mock.socket.receive() == .text("a"))
        await mock.shutDown()
    }

    @Test func severalReadersShareTheMessages() async throws {
        let mock = await MockSocket()
        let readers = (0..<3).map { _ in Task { try await mock.socket.receive() } }
        try await mock.wire.waitUntilRead()
        mock.wire.send(ServerFrame.text("a") + ServerFrame.text("b") + ServerFrame.close(1000))
        var texts: [String] = []
        for reader in readers { if let text = try await reader.value?.text { texts.append(text) } }
        #expect(texts.sorted() == ["a", "b"])
        await mock.shutDown()
    }

    /// The large message is held back until it has a reader, and the Close frame with it.
    @Test func aCloseBehindALargeMessageEndsNoReaderTwice() async throws {
        let mock = await MockSocket()
        let readers = (0..<2).map { _ in Task { try await mock.socket.receive()?.text?.utf8.count } }
        try await mock.wire.waitUntilRead()
        await mock.settle()
        mock.wire.send(
            ServerFrame.text("a") + ServerFrame.text(String(repeating: "b", count: 300_000)) + ServerFrame.close(1000))
        var counts: [Int?] = []
        for reader in readers { counts.append(try await reader.value) }
        #expect(Set(counts) == [1, 300_000])
        #expect(try await mock.socket.receive() == nil)
        await mock.shutDown()
    }

    @Test func aLoopThatIsCancelledWhileItWaitsThrows() async throws {
        let mock = await MockSocket()
        let reader = Task {
            for try await _ in mock.socket.messages {}
        }
        try await mock.wire.state.wait { $0.hasReader }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await mock.shutDown()
    }

    /// A loop that stopped without an error would look like one whose conversation is over.
    @Test func aLoopThatIsCancelledBetweenTwoMessagesThrows() async throws {
        let mock = await MockSocket()
        mock.wire.send(ServerFrame.text("a") + ServerFrame.text("b"))
        let count = Locked(0)
        let reader = Task {
            for try await _ in mock.socket.messages {
                count.withLock { $0 += 1 }
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
        let read = count.withLock { $0 }
        #expect(read == 1)
        // The message that was not read is another reader's.
        #expect(try await mock.socket.receive() == .text("b"))
        await mock.shutDown()
    }

    @Test func sendingWaitsForRoomAndKeepsTheOrder() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let first = Task { try await mock.socket.send("1") }
        try await mock.wire.waitForWriters(1)
        let second = Task { try await mock.socket.send("2") }
        await mock.settle()
        #expect(mock.wire.frames.count == 1)
        mock.wire.setFull(false)
        try await first.value
        try await second.value
        #expect(mock.wire.frames.map(\.payload) == [Array("1".utf8), Array("2".utf8)])
        await mock.shutDown()
    }

    @Test func aMessageThatIsCancelledBeforeItsTurnIsNotSent() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let first = Task { try await mock.socket.send("1") }
        try await mock.wire.waitForWriters(1)
        let second = Task { try await mock.socket.send("2") }
        await mock.settle()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        mock.wire.setFull(false)
        try await first.value
        try await mock.socket.send("3")
        #expect(mock.wire.frames.map(\.payload) == [Array("1".utf8), Array("3".utf8)])
        await mock.shutDown()
    }

    @Test func aMessageThatIsCancelledWhileItIsSentIsSentToItsEnd() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let payload = Data(repeating: 7, count: 600_000)
        let sender = Task { try await mock.socket.send(payload) }
        try await mock.wire.waitForWriters(1)
        sender.cancel()
        await #expect(throws: CancellationError.self) { try await sender.value }
        mock.wire.setFull(false)
        try await mock.socket.send("next")
        #expect(try await mock.wire.frames(4).map(\.first) == [0x02, 0x00, 0x80, 0x81])
        await mock.shutDown()
    }

    @Test func pingsAreAnsweredWithTheirPayload() async throws {
        let mock = await MockSocket()
        for number in 0..<10 as Range<UInt8> { mock.wire.send(ServerFrame.ping([number])) }
        let frames = try await mock.wire.frames(10)
        #expect(frames.map(\.first) == Array(repeating: 0x8A, count: 10))
        #expect(frames.map(\.payload) == (0..<10).map { [$0] })
        await mock.shutDown()
    }

    @Test func ofManyPingsOnlyAFewAndTheLastAreAnsweredAfterThereWasNoRoom() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        mock.wire.send(ServerFrame.ping([0]))
        try await mock.wire.waitForWriters(1)
        for number in 1..<100 as Range<UInt8> { mock.wire.send(ServerFrame.ping([number])) }
        mock.wire.send(ServerFrame.text("end"))
        #expect(try await mock.socket.receive() == .text("end"))
        mock.wire.setFull(false)
        #expect(try await mock.wire.frames(17).map(\.payload) == (0..<16).map { [$0] } + [[99]])
        await mock.shutDown()
    }

    /// The rest of a message that has begun is sent as the server reads it, and not all at once.
    @Test func aCancelledMessageIsSentWhenThereIsRoom() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let sender = Task { try await mock.socket.send(Data(repeating: 1, count: 1 << 20)) }
        try await mock.wire.waitForWriters(1)
        sender.cancel()
        await #expect(throws: CancellationError.self) { try await sender.value }
        try await mock.wire.waitForWriters(1)
        await mock.settle()
        #expect(mock.wire.state.value.written.count < 600_000)
        let next = Task { try await mock.socket.send("next") }
        mock.wire.setFull(false)
        try await next.value
        #expect(mock.wire.frames.map(\.first) == [0x02, 0x00, 0x00, 0x80, 0x81])
        await mock.shutDown()
    }

    /// The messages of calls that are cancelled one after the other do not pile up.
    @Test func noMessageFollowsACancelledOneBeforeThereIsRoom() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let sender = Task { try await mock.socket.send("1") }
        try await mock.wire.waitForWriters(1)
        sender.cancel()
        await #expect(throws: CancellationError.self) { try await sender.value }
        try await mock.wire.waitForWriters(1)
        let next = Task { try await mock.socket.send("2") }
        await mock.settle()
        next.cancel()
        await #expect(throws: CancellationError.self) { try await next.value }
        #expect(mock.wire.frames.map(\.payload) == [Array("1".utf8)])
        mock.wire.setFull(false)
        try await mock.socket.send("3")
        #expect(mock.wire.frames.map(\.payload) == [Array("1".utf8), Array("3".utf8)])
        await mock.shutDown()
    }

    @Test func anAnswerGoesBetweenTheFragmentsOfALargeMessage() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let sender = Task { try await mock.socket.send(Data(repeating: 1, count: 600_000)) }
        try await mock.wire.waitForWriters(1)
        mock.wire.send(ServerFrame.ping([5]))
        try await mock.wire.waitForWriters(2)
        mock.wire.setFull(false)
        try await sender.value
        #expect(try await mock.wire.frames(4).map(\.first) == [0x02, 0x8A, 0x00, 0x80])
        await mock.shutDown()
    }
}
