import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// The limits on the time of a handshake and of the whole conversation, on the framework's clock.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketDeadlineTests {
    private static let url = "ws://example.com/"

    private let clock = TestClock()
    private let wire = MockConnection()

    /// Returns a session whose server accepts each handshake, after the gate was opened, on the connection of the test.
    private func session(asked: LoopbackServer.Gate = .init(), mayAccept: LoopbackServer.Gate? = nil) -> Session {
        let transport = MockTransport { [wire] request in
            asked.open()
            try await mayAccept?.opened()
            return wire.acceptance(of: request)
        }
        return Session(transport: transport, clock: clock)
    }

    private func options(closeTimeout: Duration = .seconds(10)) -> WebSocketOptions {
        WebSocketOptions(pingInterval: nil, closeTimeout: closeTimeout, totalTimeout: .seconds(60))
    }

    private func error(_ body: () async throws -> Void) async -> TrellisError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? TrellisError
        }
    }

    /// Answers the client's Close frame, and ends the connection.
    private func finish(_ session: Session) async throws {
        wire.send(ServerFrame.close(1001))
        wire.end()
        try await wire.waitUntilClosed()
        await session.shutdown()
    }

    /// The limits of a handshake that is never answered, and the time at which it ends.
    private static let silences: [(timeouts: Timeouts?, total: Duration?, end: Duration, kind: TrellisError.Kind)] = [
        (nil, nil, .seconds(60), .responseTimeout), (nil, .seconds(7), .seconds(7), .totalTimeout),
        (Timeouts(total: .seconds(5)), .seconds(7), .seconds(5), .totalTimeout),
        (Timeouts(total: .seconds(9)), .seconds(7), .seconds(7), .totalTimeout),
        (Timeouts(total: .seconds(9)), nil, .seconds(9), .totalTimeout),
        (Timeouts(total: nil), .seconds(7), .seconds(7), .totalTimeout),
    ]

    @Test(arguments: silences.indices)
    func aHandshakeThatIsNotAnsweredEnds(_ index: Int) async throws {
        let row = Self.silences[index]
        let transport = ScriptedTransport()
        let session = Session(transport: transport, clock: clock)
        let call = Task {
            await error {
                _ = try await session.webSocket(
                    Self.url, options: WebSocketOptions(totalTimeout: row.total), timeouts: row.timeouts)
            }
        }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        await session.settle()
        clock.move(by: row.end - .nanoseconds(1))
        await session.settle()
        #expect(attempt.count(of: .cancel) == 0)
        clock.move(by: .nanoseconds(1))
        #expect(await call.value?.kind == row.kind)
        try await attempt.wait(for: .cancel)
        await session.shutdown()
    }

    @Test func allCallsEndWithTheTimeOfTheConversation() async throws {
        let session = session()
        let socket = try await session.webSocket(Self.url, options: options())
        let reader = Task { await error { _ = try await socket.receive() } }
        try await wire.state.wait { $0.hasReader }
        wire.setFull(true)
        let sender = Task { await error { try await socket.send("x") } }
        try await wire.waitForWriters(1)
        let ping = Task { await error { try await socket.ping() } }
        _ = try await wire.frames(2)
        clock.move(by: .seconds(60) - .nanoseconds(1))
        await session.settle()
        #expect(wire.frames.map(\.first) == [0x81, 0x89])
        clock.move(by: .nanoseconds(1))
        for call in [reader, sender, ping] {
            let error = await call.value
            #expect(error?.reason == .timedOut(.total) && error?.elapsed == .seconds(60))
            #expect(error?.description.contains("the time of the WebSocket is over") == true)
        }
        let close = try await wire.frames(3)[2]
        #expect(close.first == 0x88 && close.payload == [0x03, 0xE9])
        // The server has the time that closing may take.
        #expect(!wire.state.value.isClosed && socket.closeCode == .abnormalClosure)
        let late = await error { try await socket.send("late") }
        #expect(late?.reason == .timedOut(.total))
        wire.setFull(false)
        try await finish(session)
    }

    @Test func messagesThatHaveArrivedAreReadBeforeTheError() async throws {
        let session = session()
        let socket = try await session.webSocket(Self.url, options: options())
        wire.send(ServerFrame.text("1"), ServerFrame.text("2"))
        try await wire.state.wait { $0.readCount == 2 }
        clock.move(by: .seconds(60))
        _ = try await wire.frames(1)
        // A message that comes later is not delivered.
        wire.send(ServerFrame.text("3"))
        #expect(try await socket.receive() == .text("1"))
        #expect(try await socket.receive() == .text("2"))
        let last = await error { _ = try await socket.receive() }
        #expect(last?.reason == .timedOut(.total))
        try await finish(session)
    }

    @Test func theTimeBeginsWithTheCall() async throws {
        let (asked, mayAccept) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let session = session(asked: asked, mayAccept: mayAccept)
        let opening = Task { [options = options()] in try await session.webSocket(Self.url, options: options) }
        try await asked.opened()
        await session.settle()
        clock.move(by: .seconds(40))
        mayAccept.open()
        let socket = try await opening.value
        clock.move(by: .seconds(20) - .nanoseconds(1))
        await session.settle()
        #expect(wire.frames == [])
        clock.move(by: .nanoseconds(1))
        #expect(try await wire.frames(1).map(\.first) == [0x88])
        let last = await error { _ = try await socket.receive() }
        #expect(last?.elapsed == .seconds(60))
        try await finish(session)
    }

    @Test func theErrorIsThatOfTheWholeConversation() async throws {
        let session = session()
        let call = Task { [options = options()] in
            await error {
                try await session.withWebSocket(Self.url, options: options) { socket in
                    while try await socket.receive() != nil {}
                }
            }
        }
        try await wire.state.wait { $0.hasReader }
        clock.move(by: .seconds(60))
        _ = try await wire.frames(1)
        wire.end()
        #expect(await call.value?.kind == .totalTimeout)
        #expect(wire.frames.count == 1)
        await session.shutdown()
    }

    @Test func aConnectionThatClosesInTimeIsNotTimedOut() async throws {
        let session = session()
        let socket = try await session.webSocket(Self.url, options: options(closeTimeout: .seconds(100)))
        let closing = Task { try await socket.close() }
        _ = try await wire.frames(1)
        clock.move(by: .seconds(60))
        await session.settle()
        wire.send(ServerFrame.text("under way"))
        #expect(try await socket.receive() == .text("under way"))
        wire.send(ServerFrame.close(1000))
        wire.end()
        try await closing.value
        #expect(try await socket.receive() == nil)
        #expect(wire.frames.count == 1)
        await session.shutdown()
    }

    @Test func aLimitThatIsNotPositiveIsAnError() async throws {
        let session = session()
        let failure = await webSocketFailure {
            _ = try await session.webSocket(Self.url, options: WebSocketOptions(totalTimeout: .zero))
        }
        #expect(failure == .invalidArgument("the total time of a WebSocket is not positive"))
        await session.shutdown()
    }
}
