import CurlEngine
import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// The ends of a connection (RFC 6455, section 7).
struct WebSocketClosingTests {
    @Test func closingSendsTheCodeAndWaitsForTheServer() async throws {
        let mock = await MockSocket()
        let closing = Task { try await mock.socket.close(code: WebSocketCloseCode(rawValue: 4000), reason: "bye") }
        let close = try await mock.finish()
        try await closing.value
        #expect(close.first == 0x88 && close.payload == [0x0F, 0xA0] + Array("bye".utf8))
        #expect(mock.socket.closeCode?.rawValue == 4000 && mock.wire.state.value.isClosed)
        #expect(try await mock.socket.receive() == nil)
        #expect(await webSocketFailure { try await mock.socket.send("late") } == .notOpen)
        try await mock.socket.close()
        #expect(mock.wire.frames.count == 1)
        await mock.shutDown()
    }

    @Test(arguments: [1004, 1005, 1006, 1015, 999, 2999, 5000] as [UInt16])
    func aCodeThatNoFrameMayHaveIsAnError(_ code: UInt16) async throws {
        let mock = await MockSocket()
        let failure = await webSocketFailure { try await mock.socket.close(code: WebSocketCloseCode(rawValue: code)) }
        #expect(failure == .invalidArgument("the close code \(code) cannot be sent") && mock.wire.frames == [])
        await mock.shutDown()
    }

    @Test func closingEndsAtItsLimitIfTheServerIsSilent() async throws {
        let mock = await MockSocket()
        let closing = Task { try await mock.socket.close() }
        _ = try await mock.wire.frames(1)
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(10) - .nanoseconds(1))
        await mock.settle()
        #expect(!mock.wire.state.value.isClosed)
        mock.clock.move(by: .nanoseconds(1))
        try await closing.value
        #expect(mock.wire.state.value.isClosed && mock.socket.closeCode == .abnormalClosure)
        await mock.shutDown()
    }

    @Test func messagesThatWereUnderWayAreRead() async throws {
        let mock = await MockSocket()
        let closing = Task { try await mock.socket.close() }
        _ = try await mock.wire.frames(1)
        mock.wire.send(ServerFrame.text("1") + ServerFrame.text("2"))
        #expect(try await mock.socket.receive() == .text("1"))
        _ = try await mock.finish()
        try await closing.value
        #expect(try await mock.socket.receive() == .text("2"))
        #expect(try await mock.socket.receive() == nil)
        await mock.shutDown()
    }

    /// What came before a message above the limit is read, and the end tells that more is missing.
    @Test func aMessageAboveTheLimitIsNoCompleteEndWhileThisSideCloses() async throws {
        let mock = await MockSocket(WebSocketOptions(maximumMessageSize: 3))
        let closing = Task { try await mock.socket.close() }
        _ = try await mock.wire.frames(1)
        mock.wire.send(ServerFrame.text("1") + ServerFrame.text("long") + ServerFrame.text("2"))
        try await closing.value
        #expect(try await mock.socket.receive() == .text("1"))
        for _ in 1...2 {
            #expect(await webSocketFailure { _ = try await mock.socket.receive() } == .tooLarge(limit: 3))
        }
        #expect(mock.wire.state.value.isClosed && mock.socket.closeCode == .abnormalClosure)
        #expect(mock.wire.frames.count == 1)
        await mock.shutDown()
    }

    @Test func unreadMessagesAreDroppedSoThatTheAnswerToTheCloseIsFound() async throws {
        let mock = await MockSocket()
        for _ in 0..<100 { mock.wire.send(ServerFrame.text("unread")) }
        try await mock.wire.state.wait { $0.readCount == WebSocketInbox.mark.count }
        let closing = Task { try await mock.socket.close() }
        _ = try await mock.finish()
        try await closing.value
        var count = 0
        let failure = await webSocketFailure { for try await _ in mock.socket.messages { count += 1 } }
        #expect(count == WebSocketInbox.mark.count && failure == .dropped)
        // Every later call has the same error.
        #expect(await webSocketFailure { _ = try await mock.socket.receive() } == .dropped)
        #expect(await webSocketFailure { try await mock.socket.send("late") } == .dropped)
        #expect(await webSocketFailure { try await mock.socket.ping() } == .dropped)
        await mock.shutDown()
    }

    /// The messages that are read are the first ones of the server, without a gap.
    @Test func nothingIsReadBehindADroppedMessage() async throws {
        let mock = await MockSocket()
        for index in 0..<100 { mock.wire.send(ServerFrame.text("\(index)")) }
        try await mock.wire.state.wait { $0.readCount == WebSocketInbox.mark.count }
        let closing = Task { try await mock.socket.close() }
        try await mock.wire.waitUntilRead()
        #expect(try await mock.socket.receive() == .text("0"))
        mock.wire.send(ServerFrame.text("100"))
        _ = try await mock.finish()
        try await closing.value
        var texts = ["0"]
        let failure = await webSocketFailure {
            for try await message in mock.socket.messages { if let text = message.text { texts.append(text) } }
        }
        #expect(texts == (0..<WebSocketInbox.mark.count).map { "\($0)" } && failure == .dropped)
        await mock.shutDown()
    }

    /// A call that sends does not wait for a server that has closed and reads nothing more.
    @Test func theServersCloseEndsTheWaitForRoom() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let sender = Task { await webSocketFailure { try await mock.socket.send(Data(count: 600_000)) } }
        try await mock.wire.waitForWriters(1)
        mock.wire.send(ServerFrame.close(1008, "no"))
        #expect(await sender.value == .closed(code: .policyViolation, reason: "no"))
        let late = await webSocketFailure { try await mock.socket.send("late") }
        #expect(late == .closed(code: .policyViolation, reason: "no"))
        #expect(!mock.wire.state.value.isClosed)
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }

    @Test func theLimitOnFramesIsThatOnMessages() async throws {
        let mock = await MockSocket(WebSocketOptions(maximumMessageSize: 32 << 20))
        // The head of a frame of 20 MiB.
        mock.wire.send([0x82, 127, 0, 0, 0, 0, 0x01, 0x40, 0, 0])
        mock.wire.end()
        let failure = await webSocketFailure { _ = try await mock.socket.receive() }
        #expect(failure == .lost("the server ended the connection"))
        await mock.shutDown()
    }

    @Test(arguments: [
        WebSocketOptions(maximumMessageSize: 0), WebSocketOptions(maximumFrameSize: -1),
        WebSocketOptions(pingInterval: .zero), WebSocketOptions(pongTimeout: .zero),
    ])
    func limitsThatAreNotPositiveAreAnError(_ options: WebSocketOptions) {
        let error = #expect(throws: TrellisError.self) { try options.check() }
        #expect(error?.description.contains("not positive") == true)
    }

    @Test func aFarewellIsLeftUntilTheCloseFrame() async throws {
        let mock = await MockSocket()
        let farewell = try #require(mock.wire.state.value.farewell)
        #expect(ClientFrame.all(in: Array(farewell)).map(\.payload) == [[0x03, 0xE9]])
        let closing = Task { try await mock.socket.close() }
        _ = try await mock.finish()
        try await closing.value
        #expect(mock.wire.state.value.farewell == nil)
        await mock.shutDown()
    }

    @Test(
        arguments: [(1000, true), (1001, true), (nil, true), (1002, false), (1011, false), (4000, false)]
            as [(UInt16?, Bool)])
    func theServerMayClose(_ code: UInt16?, _ isNormal: Bool) async throws {
        let mock = await MockSocket()
        mock.wire.send(ServerFrame.text("last") + ServerFrame.close(code, code == nil ? "" : "why"))
        #expect(try await mock.socket.receive() == .text("last"))
        var end: WebSocketMessage?
        let failure = await webSocketFailure { end = try await mock.socket.receive() }
        #expect(end == nil)
        #expect(failure == (isNormal ? nil : .closed(code: mock.socket.closeCode ?? .abnormalClosure, reason: "why")))
        #expect(mock.socket.closeCode?.rawValue == code ?? 1005)
        #expect(mock.socket.closeReason == (code == nil ? "" : "why"))
        // The answer has the same code, and no reason.
        let answer = try await mock.wire.frames(1)[0]
        #expect(answer.first == 0x88 && answer.payload == (code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []))
        let reason = code == nil ? "" : "why"
        let expected = TrellisError.WebSocketFailure.closed(
            code: WebSocketCloseCode(rawValue: code ?? 1005), reason: reason)
        #expect(await webSocketFailure { try await mock.socket.send("late") } == expected)
        #expect(await webSocketFailure { try await mock.socket.ping() } == expected)
        // The server ends the connection.
        #expect(!mock.wire.state.value.isClosed)
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }

    @Test func aServerThatClosesButDoesNotEndIsCutAtTheLimit() async throws {
        let mock = await MockSocket()
        mock.wire.send(ServerFrame.close(1000))
        #expect(try await mock.socket.receive() == nil)
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(10))
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }

    @Test func anEndWithoutACloseFrameIsAnError() async throws {
        let mock = await MockSocket()
        mock.wire.send(ServerFrame.text("a") + [0x81])
        mock.wire.end()
        #expect(try await mock.socket.receive() == .text("a"))
        for _ in 0..<2 {
            let failure = await webSocketFailure { _ = try await mock.socket.receive() }
            #expect(failure == .lost("the server ended the connection"))
        }
        #expect(mock.socket.closeCode == .abnormalClosure)
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }

    @Test func aConnectionThatFailsIsAnErrorWithItsCause() async throws {
        let mock = await MockSocket()
        mock.wire.end(.failure(TrellisError(.exchangeFailed(.receive("reset")))))
        do {
            _ = try await mock.socket.receive()
            Issue.record("no error")
        } catch let error as TrellisError {
            #expect(error.kind == .webSocket && error.underlying is TrellisError && error.isTransient)
            #expect(error.description.contains("reset"))
        }
        await mock.shutDown()
    }

    @Test(
        "A violation ends the connection with its code",
        arguments: [
            ([0x81, 0x80], 1002), (ServerFrame.frame(0x81, [0xFF]), 1007), ([0x82, 126, 0xFF, 0xFF], 1009),
        ] as [([UInt8], UInt16)])
    func violations(_ bytes: [UInt8], _ code: UInt16) async throws {
        let mock = await MockSocket(WebSocketOptions(maximumMessageSize: 1000))
        mock.wire.send(ServerFrame.text("good"), bytes, ServerFrame.text("not understood"))
        #expect(try await mock.socket.receive() == .text("good"))
        let failure = await webSocketFailure { _ = try await mock.socket.receive() }
        #expect(code == 1009 ? failure == .tooLarge(limit: 1000) : failure != nil)
        let close = try await mock.wire.frames(1)[0]
        #expect(close.first == 0x88 && Array(close.payload.prefix(2)) == [UInt8(code >> 8), UInt8(code & 0xFF)])
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        #expect(mock.socket.closeCode == .abnormalClosure)
        await mock.shutDown()
    }

    @Test func waitingCallsEndWithTheConnection() async throws {
        let mock = await MockSocket()
        mock.wire.setFull(true)
        let reader = Task { await webSocketFailure { _ = try await mock.socket.receive() } }
        let first = Task { await webSocketFailure { try await mock.socket.send("1") } }
        try await mock.wire.waitForWriters(1)
        let second = Task { await webSocketFailure { try await mock.socket.send("2") } }
        let ping = Task { await webSocketFailure { try await mock.socket.ping() } }
        _ = try await mock.wire.frames(2)
        await mock.settle()
        mock.wire.end()
        for call in [reader, first, second, ping] {
            #expect(await call.value == .lost("the server ended the connection"))
        }
        await mock.shutDown()
    }

    @Test func releasingTheSocketClosesIt() async throws {
        var mock: MockSocket? = await MockSocket()
        let wire = try #require(mock?.wire)
        mock = nil
        let close = try await wire.frames(1)[0]
        #expect(close.first == 0x88 && close.payload == [0x03, 0xE9])
        wire.send(ServerFrame.close(1001))
        wire.end()
        try await wire.waitUntilClosed()
    }

    /// A connection on which nothing is received is not kept in memory by its wait for bytes.
    @Test func theWaitForBytesDoesNotRetainTheConnection() async {
        let (clock, wire) = (TestClock().engineSide, MockConnection())
        let context = WebSocketContext(
            clock: clock, timekeeper: { EngineExecutor(clock: clock) }, url: "http://localhost/")
        weak var released: WebSocketConnection?
        do {
            let connection = WebSocketConnection(
                wire, options: WebSocketOptions(pingInterval: nil), compression: nil, context: context)
            await connection.start()
            released = connection
        }
        #expect(released == nil && wire.state.value.onReadable != nil)
    }

    /// The reply to a message goes out although the next frame, in the same chunk, breaks the protocol.
    @Test func aMessageBeforeAViolationIsAnswered() async throws {
        let mock = await MockSocket()
        mock.wire.send(ServerFrame.text("question") + [0xB1, 0x00])
        #expect(try await mock.socket.receive() == .text("question"))
        await mock.settle()
        #expect(mock.wire.frames == [])
        try await mock.socket.send("answer")
        #expect(await webSocketFailure { _ = try await mock.socket.receive() } != nil)
        #expect(mock.wire.frames.map(\.first) == [0x81, 0x88])
        mock.wire.end()
        await mock.shutDown()
    }

    @Test func aMessageThatNothingReadsDelaysTheEndForASecond() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        mock.wire.send(ServerFrame.text("unread") + [0xB1, 0x00])
        await mock.waitForTimers(1)
        mock.clock.move(by: WebSocketState.settlingLimit - .nanoseconds(1))
        await mock.settle()
        #expect(mock.wire.frames == [])
        mock.clock.move(by: .nanoseconds(1))
        #expect(try await mock.wire.frames(1).map(\.first) == [0x88])
        #expect(try await mock.socket.receive() == .text("unread"))
        #expect(await webSocketFailure { _ = try await mock.socket.receive() } != nil)
        mock.wire.end()
        await mock.shutDown()
    }
}
