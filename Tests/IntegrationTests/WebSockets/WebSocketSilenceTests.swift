import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Servers that stop responding: in the handshake of a WebSocket, whose limits on time are those of a request, and after the
/// client's Close frame.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketSilenceTests {
    /// A limit on the time of a handshake, and the reason of its error.
    struct Limit: Sendable, CustomTestStringConvertible {
        let name: String
        var timeouts: Timeouts?
        /// The limit on the whole conversation.
        var total: Duration?
        let reason: TrellisError.Timeout

        var testDescription: String { name }

        /// The kind of the error: a silent server, or the time of the call.
        var kind: TrellisError.Kind {
            switch reason {
            case .total: .totalTimeout
            case .responseHead: .responseTimeout
            default: .idleTimeout
            }
        }
    }

    private static let limit = Duration.seconds(5)

    /// The limits that a server reaches although it sends a byte from time to time.
    static let absolute = [
        Limit(name: "head", timeouts: Timeouts(responseHead: limit), reason: .responseHead),
        Limit(name: "request", timeouts: Timeouts(total: limit), reason: .total),
        Limit(name: "conversation", total: limit, reason: .total),
    ]
    static let all = absolute + [Limit(name: "silence", timeouts: Timeouts(idle: limit), reason: .idle)]

    private let clock = TestClock()

    /// Opens a WebSocket, expects the error of the limit, and that the connection was closed at the same time.
    ///
    /// - Parameter pieces: The pieces of the server's head. The time of the limit passes in equal parts after each of them.
    private func expectEnd(by limit: Limit, after pieces: [String]) async throws {
        let received = pieces.map { _ in LoopbackServer.Gate() }, mayWrite = pieces.map { _ in LoopbackServer.Gate() }
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            for (index, piece) in pieces.enumerated() {
                try connection.wait(for: mayWrite[index])
                try connection.write(piece)
                connection.waitUntilReceived()
                received[index].open()
            }
            connection.waitUntilPeerCloses()
        }
        let session = Session(configuration: SessionConfiguration(), clock: clock)
        async let failure = expectFailure([limit.kind]) {
            try await session.webSocket(
                server.url(scheme: "ws"), options: WebSocketOptions(totalTimeout: limit.total),
                timeouts: limit.timeouts)
        }
        for index in pieces.indices {
            mayWrite[index].open()
            try await received[index].opened()
            await session.settle()
            #expect(server.closedByPeerCount == 0)
            clock.move(by: Self.limit / pieces.count)
        }
        let error = await failure
        #expect(error?.reason == .timedOut(limit.reason) && error?.isTimeout == true)
        #expect(error?.response == nil)
        // The connection does not wait for the end of the session.
        try await server.waitUntilClosed(count: 1)
        #expect(server.acceptedCount == 1)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    @Test(arguments: all, ["", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnec"])
    func aServerThatIsSilentInTheHandshakeReachesTheLimit(_ limit: Limit, _ beginning: String) async throws {
        try await expectEnd(by: limit, after: [beginning])
    }

    /// The bytes of a head that never ends do not extend its limit.
    @Test(arguments: absolute)
    func aHeadThatDripsReachesTheLimit(_ limit: Limit) async throws {
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nX-Long: "
        try await expectEnd(by: limit, after: [head, "x", "xx", "x", "x"])
    }

    /// The connection is cut when the time that closing may take is over, and the cancelled call says that it was cancelled.
    @Test func aCancelledConversationDoesNotWaitForASilentServer() async throws {
        let received = Locked<[LoopbackServer.WebSocketFrame]>([]), isReceived = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            let frame = try connection.acceptWebSocket(request).receiveFrame()
            received.withLock { $0.append(frame) }
            isReceived.open()
            connection.waitUntilPeerCloses()
        }
        let session = Session(configuration: SessionConfiguration(), clock: clock)
        let isOpen = LoopbackServer.Gate()
        let task = Task {
            let options = WebSocketOptions(closeTimeout: .seconds(10))
            try await session.withWebSocket(server.url(scheme: "ws"), options: options) { socket in
                isOpen.open()
                _ = try await socket.receive()
            }
        }
        try await isOpen.opened()
        task.cancel()
        try await isReceived.opened()
        await session.settle()
        clock.move(by: .seconds(10))
        await #expect(throws: CancellationError.self) { try await task.value }
        // The session has not ended, so that the cut is that of the conversation.
        try await server.waitUntilClosed(count: 1)
        #expect(server.closedByPeerCount == 1)
        let frames = received.withLock { $0 }
        #expect(frames == [LoopbackServer.WebSocketFrame(0x88, [0x03, 0xE9])])
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }
}
