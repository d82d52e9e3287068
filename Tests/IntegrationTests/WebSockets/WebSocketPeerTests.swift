import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// WebSockets to the Python package websockets: with TLS, through proxies, with compression, and their ends.
///
/// Serialized, because the tests share the peer's connections and the requests that its proxies have got.
@Suite(.timeLimit(.minutes(2)), .serialized, .requiresPeers)
struct WebSocketPeerTests {
    private static let started = Peer.started("websocket_server.py")

    private let peer: Peer

    init() async throws {
        peer = try await Self.started.value
        _ = try await seen()
    }

    private func session(_ change: (inout SessionConfiguration) throws -> Void) rethrows -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        try change(&configuration)
        return Session(configuration: configuration)
    }

    private func session() -> Session { session { _ in } }

    private func url(_ port: String, _ path: String = "/echo") throws -> String {
        try peer.url(port, path, scheme: port == "wss" ? "wss" : "ws")
    }

    /// Returns the requests that the proxies have got.
    private func seen() async throws -> [[String?]] { try await peer.answer(to: "seen") }

    private func finish(_ session: Session) async throws {
        // A request ends a moment after its conversation.
        while await session.liveRequestCount > 0, !Task.isCancelled { await Task.yield() }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// Sends messages of many sizes, and checks that they come back.
    private func converse(_ session: Session, _ url: String) async throws {
        try await session.withWebSocket(url) { socket in
            for size in [0, 1, 125, 126, 1_023, 1_024, 65_535, 65_536, 1 << 20] {
                let text = WebSocketMessage.text(
                    String(String(repeating: "héllo wörld ", count: size / 13 + 1).prefix(size)))
                let bytes = WebSocketMessage.binary(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 8) }))
                for message in [text, bytes] {
                    try await socket.send(message)
                    #expect(try await socket.receive() == message)
                }
            }
            try await socket.ping()
        }
    }

    @Test(arguments: ["ws", "ws-plain", "wss"])
    func messagesComeBack(_ port: String) async throws {
        let session = session()
        try await converse(session, try url(port))
        try await finish(session)
    }

    @Test func theServersTermsOfCompressionApply() async throws {
        let session = session()
        for (port, isCompressed) in [("ws", true), ("ws-plain", false)] {
            let socket = try await session.webSocket(url(port))
            #expect(socket.extensions.contains("permessage-deflate") == isCompressed)
            try await socket.close()
        }
        let socket = try await session.webSocket(url("ws"), options: WebSocketOptions(compression: nil))
        #expect(socket.extensions == "")
        try await socket.close()
        try await finish(session)
    }

    @Test func theServerChoosesASubprotocol() async throws {
        let session = session()
        let socket = try await session.webSocket(
            url("ws"), options: WebSocketOptions(subprotocols: ["other", "news"]))
        #expect(socket.subprotocol == "news")
        try await socket.close()
        try await finish(session)
    }

    @Test func aBurstOfPingsIsAnswered() async throws {
        let session = session()
        try await session.withWebSocket(url("ws", "/ping")) { socket in
            let last = try await socket.receive()
            #expect(last == .text("answered"))
        }
        try await finish(session)
    }

    @Test(arguments: [1000, 1001, 1011, 3000, 4999])
    func theServersCodeIsKnown(_ code: UInt16) async throws {
        let session = session()
        let socket = try await session.webSocket(url("wss", "/close/\(code)"))
        try await expectEnd(socket, code)
        try await finish(session)
    }

    // MARK: Proxies

    @Test(arguments: ["proxy", "tls-proxy"], ["ws", "wss"])
    func aTunnelLeadsThroughAProxy(_ proxy: String, _ port: String) async throws {
        let session = try session {
            let url = try peer.url(proxy, "", scheme: proxy == "proxy" ? "http" : "https")
            $0.proxy = .always(try Proxy(url, username: "ada", password: "s3cret"))
        }
        try await converse(session, try url(port))
        let target = "127.0.0.1:\(try #require(peer.announcement.ports[port]))"
        #expect(try await seen() == [["CONNECT", target, "Basic " + Data("ada:s3cret".utf8).base64EncodedString()]])
        try await finish(session)
    }

    /// Nothing is sent to a proxy that is not trusted.
    @Test func aProxyThatIsNotTrustedGetsNothing() async throws {
        let session = try session {
            $0.tls = TLSConfiguration()
            $0.proxy = .always(try Proxy(peer.url("tls-proxy", "")))
        }
        let error = await expectFailure([.untrusted]) { try await session.webSocket(url("wss")) }
        #expect(error?.untrusted?.isOfProxy == true && error?.mayHaveSentBytes == false)
        #expect(try await seen() == [])
        try await finish(session)
    }

    // MARK: Trust

    @Test func anEvaluatorIsAskedForTheServersChain() async throws {
        let asked = Locked<[String]>([])
        let session = session {
            $0.serverTrustManager = ServerTrustManager(
                everyHost: Evaluator { trust in asked.withLock { $0.append(trust.host) } })
        }
        try await converse(session, try url("wss"))
        #expect(asked.withLock { $0 } == ["127.0.0.1"])
        try await finish(session)
    }

    @Test func anEvaluatorRefusesTheServer() async throws {
        let session = session {
            $0.serverTrustManager = ServerTrustManager(everyHost: Evaluator { _ in throw Evaluator.Distrust() })
        }
        let error = await expectFailure([.trustRefused]) { try await session.webSocket(url("wss")) }
        #expect(error?.underlying is Evaluator.Distrust && error?.mayHaveSentBytes == false)
        try await finish(session)
    }

    @Test func aPinThatDoesNotMatchRefusesTheServer() async throws {
        let pin = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let session = try session {
            $0.serverTrustManager = ServerTrustManager(
                everyHost: try PublicKeysTrustEvaluator(pins: [pin], allowsSinglePin: true))
        }
        let error = await expectFailure([.pinMismatch]) { try await session.webSocket(url("wss")) }
        #expect(error?.mayHaveSentBytes == false)
        try await finish(session)
    }

    private struct Evaluator: ServerTrustEvaluating {
        struct Distrust: Error {}

        let body: @Sendable (ServerTrust) async throws -> Void

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            await Task.yield()
            try await body(trust)
        }
    }

    // MARK: Ends in the middle

    @Test(arguments: ["ws", "wss"])
    func aCancelledConversationLeavesNothing(_ port: String) async throws {
        let session = session()
        for count in 0..<10 {
            let (progress, reports) = AsyncStream.makeStream(of: Void.self)
            let task = Task { [url = try url(port, "/flood")] in
                // A failure ends the wait too.
                defer { reports.finish() }
                try await session.withWebSocket(url) { socket in
                    var received = 0
                    for try await _ in socket.messages {
                        received += 1
                        if received > count { reports.finish() }
                    }
                    try Task.checkCancellation()
                }
            }
            for await _ in progress {}
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        try await finish(session)
    }

    @Test(arguments: ["ws", "wss"])
    func theShutdownEndsConversationsInTheMiddle(_ port: String) async throws {
        let session = session()
        let sockets = [
            try await session.webSocket(url(port, "/flood")), try await session.webSocket(url(port, "/flood")),
        ]
        _ = try await sockets[0].receive()
        // The other socket has no reader, so that nothing more is read from its connection.
        async let error = expectFailure([.cancelled]) { while try await sockets[0].receive() != nil {} }
        await session.shutdown()
        let ended = await error
        #expect(ended?.reason == .cancelled(.sessionShutDown))
        await expectFailure([.cancelled]) { try await sockets[0].send("late") }
        try await peer.waitUntilAllClosed()
        let last = await expectFailure([.cancelled]) { while try await sockets[1].receive() != nil {} }
        #expect(last?.reason == .cancelled(.sessionShutDown))
    }

    @Test func aReleasedSocketIsClosed() async throws {
        let session = session()
        _ = try await session.webSocket(url("wss"))
        try await peer.waitUntilAllClosed()
        await session.shutdown()
    }
}

/// WebSockets through real servers that stand in front of another one.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct WebSocketGatewayTests {
    @Test(.requires("nginx")) func nginx() async throws { try await converse("nginx") }

    @Test(.requires("caddy")) func caddy() async throws { try await converse("caddy") }

    private func converse(_ gateway: String) async throws {
        let peer = try await Peer.realServers.value
        let server = try WebSocketServer()
        let session = peer.session()
        let url = try peer.url(gateway, "/switch/\(server.server.port)/", scheme: "wss")
        try await session.withWebSocket(url) { socket in
            for size in [1, 1_000, 60_000] {
                let message = WebSocketMessage.text(String(repeating: "a", count: size))
                try await socket.send(message)
                #expect(try await socket.receive() == message)
            }
        }
        try await server.server.waitUntilAllClosed()
        #expect(server.lastCloseCode == 1000)
        // A refusal passes too.
        let refused = try peer.url(gateway, "/switch/\(server.server.port)/refused", scheme: "wss")
        let error = await expectFailure([.unacceptableStatus]) { try await session.webSocket(refused) }
        #expect(error?.response?.status.code == 403 && error?.bodyExcerpt?.text == "no cookie")
        await session.shutdown()
    }
}
