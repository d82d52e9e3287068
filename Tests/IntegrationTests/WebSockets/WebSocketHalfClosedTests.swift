import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Servers that end their own side of the connection, and read further. The client closes its side at once, however long closing may take.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketHalfClosedTests {
    /// A server whose script ends its side of a WebSocket, and which then reads to the end of the client's side.
    private struct Server {
        let loopback: LoopbackServer
        /// The number of bytes of each client after its script.
        let rest = Locked<[Int]>([])

        init(_ script: @escaping @Sendable (LoopbackServer.WebSocketPeer) throws -> Void) throws {
            loopback = try LoopbackServer { [rest] connection in
                guard let request = try connection.readHead() else { return }
                try script(try connection.acceptWebSocket(request))
                let count = try connection.readToEnd()
                rest.withLock { $0.append(count) }
            }
        }

        func connect(_ session: Session) async throws -> WebSocket {
            // A client that waited for the time of closing, or for a missing answer to a ping, would reach the limit of the test.
            let options = WebSocketOptions(pingInterval: nil, closeTimeout: .seconds(3600))
            return try await session.webSocket(loopback.url(scheme: "ws"), options: options)
        }

        /// Waits for the end of the client's side, before the session ends. Returns the number of its last bytes.
        func end() async throws -> Int? {
            try await loopback.waitUntilClosed(count: 1)
            #expect(loopback.errors.isEmpty)
            return rest.withLock { $0.first }
        }
    }

    private let session = Session()

    /// The last bytes of the server, by their names.
    static let beginnings: [(String, [UInt8])] = [
        ("between two frames", []), ("in the head of a frame", [0x81]), ("in a payload", [0x81, 5, 0x68]),
        ("between two fragments", [0x01, 1, 0x61]), ("in a Close frame", [0x88, 2, 3]),
    ]

    @Test(arguments: beginnings)
    func anOpenWebSocketIsLost(_ beginning: (String, [UInt8])) async throws {
        let server = try Server { peer in
            try peer.send("first")
            _ = try peer.receive()
            try peer.connection.write(beginning.1)
            peer.connection.shutdownWrite()
        }
        let socket = try await server.connect(session)
        let error = try await expectLossAfterFirst(socket)
        let rest = try await server.end()
        #expect(rest == 0)
        let late = await expectFailure([.webSocket]) { try await socket.send("late") }
        #expect(late?.reason == error?.reason)
        try await socket.close()
        await session.shutdown()
    }

    @Test func aWebSocketThatIsNotReadIsLost() async throws {
        let server = try Server { $0.connection.shutdownWrite() }
        let socket = try await server.connect(session)
        let rest = try await server.end()
        #expect(rest == 0 && socket.closeCode == .abnormalClosure)
        expectLoss(await expectFailure([.webSocket]) { try await socket.send("late") })
        await session.shutdown()
    }

    /// The task waits for room, because the server does not read yet.
    @Test func aTaskThatSendsIsTold() async throws {
        let (mayEnd, mayRead) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let server = try Server { peer in
            try peer.connection.wait(for: mayEnd)
            peer.connection.shutdownWrite()
            try? peer.connection.wait(for: mayRead)
        }
        let socket = try await server.connect(session)
        mayEnd.open()
        let error = await expectFailure([.webSocket]) {
            while true { try await socket.send(Data(count: 1 << 20)) }
        }
        expectLoss(error)
        mayRead.open()
        let rest = try await server.end()
        #expect(rest != nil && socket.closeCode == .abnormalClosure)
        await session.shutdown()
    }

    /// The client answers the Close frame although the server's side has ended, and then ends its own.
    @Test func afterTheServersCloseFrameTheEndIsNormal() async throws {
        let answers = Locked<[LoopbackServer.WebSocketFrame]>([])
        let server = try Server { peer in
            try peer.send("last")
            try peer.send(LoopbackServer.WebSocketFrame(0x88, [0x03, 0xE8]))
            peer.connection.shutdownWrite()
            let answer = try peer.receiveFrame()
            answers.withLock { $0.append(answer) }
        }
        let socket = try await server.connect(session)
        let message = try await socket.receive()
        #expect(message == .text("last"))
        let last = try await socket.receive()
        #expect(last == nil && socket.closeCode == .normalClosure)
        try await socket.close()
        let rest = try await server.end()
        #expect(rest == 0)
        #expect(answers.withLock { $0 } == [LoopbackServer.WebSocketFrame(0x88, [0x03, 0xE8])])
        await session.shutdown()
    }

    /// The server sends no Close frame, or a part of one.
    @Test(arguments: [[], [0x88, 2, 3]] as [[UInt8]])
    func afterTheClientsCloseFrameTheEndIsNormal(_ bytes: [UInt8]) async throws {
        let server = try Server { peer in
            _ = try peer.receiveFrame()
            try peer.connection.write(bytes)
            peer.connection.shutdownWrite()
        }
        let socket = try await server.connect(session)
        try await socket.close()
        let last = try await socket.receive()
        #expect(last == nil && socket.closeCode == .abnormalClosure)
        let rest = try await server.end()
        #expect(rest == 0)
        await session.shutdown()
    }
}
