import CurlEngine
import FoundationEssentials
import Testing
import Trellis

@testable import TrellisTesting

/// The WebSockets of ``LoopbackServer``, with the framework's own as their client.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketPeerScriptTests {
    private func converse<Result: Sendable>(
        _ script: @escaping @Sendable (LoopbackServer.WebSocketPeer) throws -> Void,
        _ body: (WebSocket) async throws -> Result
    ) async throws -> Result {
        let server = try LoopbackServer.webSocket(script)
        let session = Session()
        let result = try await session.withWebSocket(server.url("/chat", scheme: "ws"), body)
        try await server.waitUntilAllClosed()
        await session.shutdown()
        #expect(server.errors.isEmpty)
        return result
    }

    @Test(arguments: [0, 125, 126, 65_535, 65_536, 700_000])
    func messagesOfEachSizeComeBack(_ size: Int) async throws {
        let message = WebSocketMessage.binary(Data(repeating: 7, count: size))
        let reply = try await converse { peer in
            while let message = try peer.receive() { try peer.send(message) }
        } _: { socket in
            // Large messages are sent in fragments.
            try await socket.send(message)
            let reply = try await socket.receive()
            try await socket.ping()
            return reply
        }
        #expect(reply == message)
    }

    @Test func aPingReturnsAfterItsAnswerAndKeepsTheMessagesBefore() async throws {
        let text = Locked<String?>(nil)
        let reply = try await converse { peer in
            #expect(peer.request.path == "/chat")
            try peer.send("go")
            try peer.ping("now")
            let message = try peer.receive()?.text
            text.withLock { $0 = message }
            try peer.close()
        } _: { socket in
            _ = try await socket.receive()
            try await socket.send("first")
            return try await socket.receive()
        }
        #expect(reply == nil && text.withLock { $0 } == "first")
    }

    @Test func theClientsCodeIsKnown() async throws {
        let end = Locked<(WebSocketCloseCode?, String)>((nil, ""))
        try await converse { peer in
            let message = try peer.receive()
            #expect(message == nil)
            end.withLock { $0 = (peer.closeCode, peer.closeReason) }
        } _: { socket in
            try await socket.close(code: .policyViolation, reason: "no")
            #expect(socket.closeCode == .policyViolation)
        }
        #expect(end.withLock { $0.0 } == .policyViolation && end.withLock { $0.1 } == "no")
    }

    @Test func aScriptMayBreakTheProtocol() async throws {
        let code = Locked<WebSocketCloseCode?>(nil)
        await #expect(throws: TrellisError.self) {
            try await converse { peer in
                try peer.send(.init(0x83, [1]))
                let message = try peer.receive()
                #expect(message == nil)
                code.withLock { $0 = peer.closeCode }
            } _: { socket in
                _ = try await socket.receive()
            }
        }
        while code.withLock({ $0 }) == nil, !Task.isCancelled { await Task.yield() }
        #expect(code.withLock { $0 } == .protocolError)
    }

    @Test func aScriptMayCutTheConnection() async throws {
        do {
            try await converse { peer in
                try peer.send("last")
                peer.connection.waitUntilReceived()
                peer.connection.close()
            } _: { socket in
                #expect(try await socket.receive() == .text("last"))
                _ = try await socket.receive()
            }
            Issue.record("no error")
        } catch let error as TrellisError {
            #expect(error.kind == .webSocket)
        }
    }

    /// A length beyond what a frame can have is an error of the script, and does not end the process.
    @Test func aLengthWithItsFirstBitSetIsAnError() async throws {
        let server = try LoopbackServer.webSocket { peer in
            _ = try peer.receive()
        }
        let client = try LoopbackSocket.connecting(to: SocketName(host: "127.0.0.1", port: server.port))
        try await server.waitUntilAccepted(count: 1)
        let head =
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        let frame: [UInt8] = [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
        #expect(try client.send((Array(head.utf8) + frame)[...]) == head.utf8.count + frame.count)
        client.shutdownWrite()
        try await server.waitUntilAllClosed()
        let reasons = server.errors.compactMap { ($0 as? LoopbackServer.MalformedRequest)?.reason }
        #expect(reasons == ["the length of a frame has its first bit set"])
        client.close()
    }
}
