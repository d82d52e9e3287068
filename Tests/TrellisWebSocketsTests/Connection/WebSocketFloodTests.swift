import CurlEngine
import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// Very many small frames at once: a connection handles a part of them in each turn of its thread, and answers few pings of a turn.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketFloodTests {
    /// A connection that has a thread, and whose other side is the test.
    private struct ThreadedConnection: DuplexConnection {
        let wire: MockConnection
        let executor: (any TaskExecutor)?

        func waitForBytes() async throws -> Data? { try await wire.waitForBytes() }
        func readAvailable() throws -> Data? { try wire.readAvailable() }
        func whenReadable(_ body: @escaping @Sendable () -> Void) { wire.whenReadable(body) }
        func send(_ bytes: Data) throws -> Bool { try wire.send(bytes) }
        func waitForRoom() async throws { try await wire.waitForRoom() }
        func endWaits() { wire.endWaits() }
        func setFarewell(_ bytes: Data?) { wire.setFarewell(bytes) }
        func close() { wire.close() }
    }

    /// The numbers of bytes that were written at the beginning of the turns of a thread.
    private final class Turns: Sendable {
        private let counts = Locked<Set<Int>>([])
        private let isOver = Locked(false)

        func watch(_ wire: MockConnection, on executor: EngineExecutor) {
            let count = wire.state.value.written.count
            counts.withLock { _ = $0.insert(count) }
            guard !isOver.withLock({ $0 }) else { return }
            executor.submit { self.watch(wire, on: executor) }
        }

        func end() -> Set<Int> {
            isOver.withLock { $0 = true }
            return counts.withLock { $0 }
        }
    }

    private static func number(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    @Test func aFloodOfPingsIsHandledInPartsBetweenWhichTheThreadDoesOtherWork() async throws {
        let (clock, wire, turns) = (TestClock(), MockConnection(), Turns())
        let engineClock = clock.engineSide
        let executor = EngineExecutor(clock: engineClock)
        let context = WebSocketContext(clock: engineClock, timekeeper: { executor }, url: "http://localhost/")
        let connection = WebSocketConnection(
            ThreadedConnection(wire: wire, executor: executor), options: WebSocketOptions(pingInterval: nil),
            compression: nil, context: context)
        await connection.start()
        let parts = 20
        let count = parts * WebSocketConnection.framesPerTurn
        var flood: [UInt8] = []
        for number in 0..<count { flood += ServerFrame.ping(Self.number(number)) }
        executor.submit { turns.watch(wire, on: executor) }
        wire.send(flood + ServerFrame.text("end"))
        #expect(try await connection.receive() == .text("end"))
        // One part would be answered between two turns.
        #expect(turns.end().count > 2)
        // The answer to the last ping is written after the message was passed on.
        let last = Self.number(count - 1)
        try await wire.state.wait { ClientFrame.all(in: $0.written).last?.payload == last }
        let answers = wire.frames
        #expect(answers.allSatisfy { $0.first == 0x8A })
        // Of each part, the first pings and the last one, as far as earlier answers are sent by then.
        let most = parts * WebSocketAnswers.limit
        #expect(answers.count >= WebSocketAnswers.limit && answers.count <= most)
        #expect(answers.prefix(15).map(\.payload) == (0..<15).map { Self.number($0) })
        wire.end()
        try await wire.waitUntilClosed()
        await executor.shutDown()
    }

    /// The frames of a part are read where the part before has ended.
    @Test(arguments: [1, 2, 3, 7])
    func theSizeOfAPartDoesNotChangeTheEvents(_ size: Int) throws {
        var bytes = ServerFrame.text("a", first: 0x01)
        for _ in 0..<20 { bytes += ServerFrame.text("", first: 0x00) }
        bytes += ServerFrame.ping([1]) + ServerFrame.text("b", first: 0x80) + ServerFrame.pong()
        bytes += ServerFrame.close(1000)
        var reader = WebSocketReader(maximumFrameSize: 100, maximumMessageSize: 100, compression: nil)
        reader.feed(Data(bytes))
        var (events, parts) = ([WebSocketEvent](), 0)
        while !reader.isClosed, parts < 100 {
            var frames = size
            while let event = try reader.next(&frames) { events.append(event) }
            #expect(frames >= 0)
            parts += 1
        }
        #expect(events == [.ping(Data([1])), .text("ab"), .pong(Data()), .close(1000)])
        #expect(parts == (25 + size - 1) / size)
    }

    /// While this side closes, messages are decompressed although they are dropped. Of one turn, the pings between them are too many to be
    /// answered.
    @Test func messagesThatGrowAreHandledInPartsWhileThisSideCloses() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil), compression: WebSocketDeflate())
        let closing = Task { try await mock.socket.close() }
        let code = try await mock.wire.frames(1)[0].payload
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        let message = [UInt8](repeating: 0, count: WebSocketInbox.mark.bytes)
        var flood: [UInt8] = []
        for number in 0..<UInt8(2 * WebSocketAnswers.limit) {
            flood += ServerFrame.frame(0xC2, Array(try deflater.deflate(message.span))) + ServerFrame.ping([number])
        }
        mock.wire.send(flood + ServerFrame.frame(0x88, code))
        mock.wire.end()
        try await closing.value
        #expect(mock.wire.frames.filter { $0.first == 0x8A }.count > WebSocketAnswers.limit)
        #expect(mock.socket.closeCode == .normalClosure)
        #expect(try await mock.socket.receive() == .binary(Data(message)))
        #expect(await webSocketFailure { _ = try await mock.socket.receive() } == .dropped)
        await mock.shutDown()
    }

    /// An answer to a ping follows no Close frame (RFC 6455, section 5.5.1).
    @Test(arguments: [ServerFrame.close(1000), ServerFrame.frame(0x83, [])])
    func aPingIsAnsweredBeforeTheCloseFrameOfTheSameBytes(_ last: [UInt8]) async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        mock.wire.send(ServerFrame.ping([1]) + last)
        let frames = try await mock.wire.frames(2)
        #expect(frames.map(\.first) == [0x8A, 0x88])
        #expect(frames.first?.payload == [1])
        mock.wire.end()
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }
}
