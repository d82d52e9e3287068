import Foundation
import Testing
import Trellis

/// WebSockets to the Python package websockets behind nginx and caddy, which pass the handshake on and then the bytes.
///
/// Serialized, because the tests share the peer's connections.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers, .requires("nginx"), .requires("caddy"))
struct WebSocketReverseProxyTests {
    private static let started = Peer.started("websocket_server.py")
    private static let names = ["nginx", "caddy"]

    private let server: Peer
    private let front: Peer

    init() async throws {
        server = try await Self.started.value
        front = try await Peer.realServers.value
    }

    private func session() -> Session { front.session() }

    private func url(_ proxy: String, _ path: String, port: String = "ws") throws -> String {
        let number = try #require(server.announcement.ports[port])
        return try front.url(proxy, "/switch/\(number)\(path)", scheme: "wss")
    }

    private func finish(_ session: Session) async throws {
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// Small and large messages, with compression and without it.
    @Test(arguments: names, ["ws", "ws-plain"])
    func messagesComeBack(_ proxy: String, _ port: String) async throws {
        let session = session()
        try await session.withWebSocket(url(proxy, "/echo", port: port)) { socket in
            #expect(socket.extensions.contains("permessage-deflate") == (port == "ws"))
            for size in [0, 1, 1_000, 70_000, 4 << 20] {
                let bytes = WebSocketMessage.binary(Data(repeating: 0xA5, count: size))
                for message in [bytes, .text(String(repeating: "wörld", count: size / 6))] {
                    try await socket.send(message)
                    let reply = try await socket.receive()
                    #expect(reply == message)
                }
            }
        }
        try await finish(session)
    }

    @Test(arguments: names)
    func theServerChoosesASubprotocol(_ proxy: String) async throws {
        let session = session()
        let options = WebSocketOptions(subprotocols: ["other", "news"])
        let socket = try await session.webSocket(url(proxy, "/echo"), options: options)
        #expect(socket.subprotocol == "news")
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
        try await finish(session)
    }

    @Test(arguments: names, [1000, 1001, 1011, 4999] as [UInt16])
    func theServersCodeIsKnown(_ proxy: String, _ code: UInt16) async throws {
        let session = session()
        let socket = try await session.webSocket(url(proxy, "/close/\(code)"))
        try await expectEnd(socket, code)
        try await finish(session)
    }

    /// The server knows the client's code: its answer has the same one.
    @Test(arguments: names)
    func theClientsCodeReachesTheServer(_ proxy: String) async throws {
        let session = session()
        let socket = try await session.webSocket(url(proxy, "/echo"))
        try await socket.close(code: WebSocketCloseCode(rawValue: 4001), reason: "done")
        #expect(socket.closeCode?.rawValue == 4001)
        try await finish(session)
    }

    @Test(arguments: names)
    func pingsPassInBothDirections(_ proxy: String) async throws {
        let session = session()
        try await session.withWebSocket(url(proxy, "/ping")) { socket in
            let answered = try await socket.receive()
            #expect(answered == .text("answered"))
            try await socket.ping()
            #expect(socket.latency != nil)
        }
        try await finish(session)
    }
}
