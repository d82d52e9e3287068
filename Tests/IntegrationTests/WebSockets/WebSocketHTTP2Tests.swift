import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// WebSockets on streams of HTTP/2 connections (RFC 8441).
///
/// Serialized, because the tests share what the peer has seen.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct WebSocketHTTP2Tests {
    private static let started = Peer.started("http2_websockets.py")

    /// What the peer has seen.
    private struct Seen: Decodable {
        let connections: Int
        let requests: [String]
        let codes: [Int]
        let ended: Int
        let sent: Int
    }

    private let peer: Peer

    init() async throws {
        peer = try await Self.started.value
        _ = try await seen()
    }

    private func seen() async throws -> Seen { try await peer.answer(to: "seen") }

    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        // A second engine, which is added on a busy machine, would have a connection of its own.
        configuration.engines = .one
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        change(&configuration)
        return Session(configuration: configuration)
    }

    private func request(_ path: String, _ port: String = "tls") throws -> Request {
        let isSecure = port != "cleartext"
        return Request(try peer.url(port, path, scheme: isSecure ? "wss" : "ws"))
            .withHTTPVersion(isSecure ? .http2 : .http2PriorKnowledge)
    }

    private func finish(_ session: Session) async throws {
        while await session.liveRequestCount > 0, !Task.isCancelled { await Task.yield() }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    // MARK: Messages

    @Test(arguments: ["tls", "cleartext"])
    func messagesComeBack(_ port: String) async throws {
        let session = session()
        try await session.withWebSocket(request("/echo", port)) { socket in
            #expect(socket.response.status == .ok && socket.response.version == .http2)
            for size in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
                let message = WebSocketMessage.binary(
                    Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 8) }))
                try await socket.send(message)
                #expect(try await socket.receive() == message)
            }
            try await socket.ping()
        }
        // The client has answered nothing after its Close frame but the end of the stream.
        try await finish(session)
        let seen = try await seen()
        #expect(seen.codes == [1000] && seen.ended == 1 && seen.connections == 1)
    }

    /// The session's version is for its other requests. A WebSocket has to ask for HTTP/2 itself.
    @Test func socketsShareTheConnectionOfRequests() async throws {
        let session = session()
        let url = try peer.url("tls", "/plain")
        #expect(try await session.string(url) == "plain")
        let first = try await session.webSocket(request("/echo")),
            second = try await session.webSocket(request("/echo"))
        for (socket, text) in [(first, "one"), (second, "two"), (first, "three")] {
            try await socket.send(text)
            #expect(try await session.string(url) == "plain")
            #expect(try await socket.receive() == .text(text))
        }
        try await first.close()
        try await second.send("four")
        #expect(try await second.receive() == .text("four"))
        try await second.close()
        #expect(try await session.string(url) == "plain")
        try await finish(session)
        #expect(try await seen().connections == 1)
    }

    /// RFC 8441, section 5: what a stream replaces is not sent.
    @Test func theFieldsOfTheRequest() async throws {
        let session = session()
        let options = WebSocketOptions(subprotocols: ["other", "news"])
        let socket = try await session.webSocket(request("/fields?a=b"), options: options, headers: ["X-Room": "7"])
        guard case .text(let text)? = try await socket.receive() else {
            Issue.record("no text")
            return
        }
        let fields = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        #expect(fields[":method"] == "CONNECT" && fields[":protocol"] == "websocket" && fields[":scheme"] == "https")
        #expect(fields[":path"] == "/fields?a=b" && fields[":authority"]?.hasPrefix("127.0.0.1:") == true)
        #expect(fields["sec-websocket-version"] == "13" && fields["x-room"] == "7")
        for name in ["connection", "upgrade", "sec-websocket-key", "host", "content-length"] {
            #expect(fields[name] == nil, "\(name)")
        }
        #expect(socket.subprotocol == "news")
        try await socket.close()
        try await finish(session)
    }

    // MARK: Responses

    @Test func aRefusalIsAResponse() async throws {
        let session = session()
        let error = await expectFailure([.unacceptableStatus]) { try await session.webSocket(request("/refused")) }
        #expect(error?.response?.status.code == 403 && error?.bodyExcerpt?.text == "no cookie")
        let socket = try await session.webSocket(request("/redirect"))
        try await socket.send("a")
        #expect(try await socket.receive() == .text("a"))
        try await socket.close()
        try await finish(session)
        let seen = try await seen()
        #expect(seen.requests == ["/refused", "/redirect", "/echo"] && seen.connections == 1)
    }

    /// Nothing is sent to a server that does not offer WebSockets over HTTP/2, the first time and later.
    @Test func aServerWithoutThemGetsNothing() async throws {
        let session = session()
        for _ in 1...2 {
            let error = await expectFailure([.webSocket]) { try await session.webSocket(request("/echo", "without")) }
            #expect(error?.description.contains("does not offer WebSockets over HTTP/2") == true, "\(error as Any)")
            #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false)
        }
        #expect(try await session.string(peer.url("without", "/plain")) == "plain")
        try await finish(session)
        let seen = try await seen()
        #expect(seen.requests == ["/plain"] && seen.connections == 1)
    }

    // MARK: Ends

    @Test(arguments: ["close", "half"], [1000, 1011, 4999])
    func theServersCodeIsKnown(_ kind: String, _ code: UInt16) async throws {
        let session = session()
        let socket = try await session.webSocket(request("/\(kind)/\(code)"))
        try await expectEnd(socket, code)
        try await finish(session)
        // The client's Close frame arrives, although the server may have ended its half of the stream.
        #expect(try await seen().codes == [Int(code)])
    }

    @Test func aStreamThatIsResetIsLost() async throws {
        let session = session()
        let socket = try await session.webSocket(request("/reset"))
        try await socket.send("a")
        let error = await expectFailure([.webSocket]) { _ = try await socket.receive() }
        #expect(error?.description.contains("CANCEL") == true, "\(error as Any)")
        #expect(socket.closeCode == .abnormalClosure)
        // The connection goes on.
        #expect(try await session.string(peer.url("tls", "/plain")) == "plain")
        try await finish(session)
        #expect(try await seen().connections == 1)
    }

    @Test func aSocketOutlivesTheGoAwayOfItsConnection() async throws {
        let session = session()
        let socket = try await session.webSocket(request("/goaway"))
        for text in ["one", "two"] {
            try await socket.send(text)
            #expect(try await socket.receive() == .text(text))
        }
        #expect(try await session.string(peer.url("tls", "/plain")) == "plain")
        try await socket.send("three")
        #expect(try await socket.receive() == .text("three"))
        try await socket.close()
        try await finish(session)
        #expect(try await seen().connections == 2)
    }

    @Test func aDrainingSessionSaysGoodbye() async throws {
        let session = session()
        let socket = try await session.webSocket(request("/echo"))
        await session.shutdown(drainingFor: .seconds(30))
        #expect(socket.closeCode == .goingAway)
        try await peer.waitUntilAllClosed()
        #expect(try await seen().codes == [1001])
    }

    @Test func theShutdownEndsConversations() async throws {
        let session = session()
        let socket = try await session.webSocket(request("/echo"))
        await session.shutdown()
        let error = await expectFailure([.cancelled]) { _ = try await socket.receive() }
        #expect(error?.reason == .cancelled(.sessionShutDown))
        try await peer.waitUntilAllClosed()
        #expect(try await seen().codes == [1001])
    }

    @Test func aReleasedSocketLeavesTheConnection() async throws {
        let session = session()
        // This server never answers a Close frame.
        let options = WebSocketOptions(closeTimeout: .milliseconds(1))
        for _ in 1...3 { _ = try await session.webSocket(request("/flood"), options: options) }
        while await session.liveRequestCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await session.string(peer.url("tls", "/plain")) == "plain")
        try await finish(session)
        #expect(try await seen().connections == 1)
    }

    // MARK: Backpressure

    /// A server whose messages nobody reads stops, while other streams of the connection go on.
    @Test func aReaderThatStopsStopsItsServerAlone() async throws {
        let session = session()
        // This server never answers a Close frame.
        let options = WebSocketOptions(closeTimeout: .milliseconds(1))
        let socket = try await session.webSocket(request("/flood"), options: options)
        let url = try peer.url("tls", "/plain")
        for _ in 1...100 { #expect(try await session.string(url) == "plain") }
        let seen = try await seen()
        #expect(seen.sent <= 2 << 20 && seen.connections == 1)
        for _ in 1...100 { #expect(try await socket.receive() == .binary(Data(count: 64 << 10))) }
        try await socket.close(code: .goingAway)
        try await finish(session)
    }

    /// The server grants bytes late, and would end a connection that sends more.
    @Test func aSlowServerIsWaitedFor() async throws {
        let session = session()
        let socket = try await session.webSocket(
            request("/total/unread"), options: WebSocketOptions(compression: nil, pingInterval: nil))
        for _ in 1...20 { try await socket.send(Data(repeating: 1, count: 60_000)) }
        try await socket.send("end")
        #expect(try await socket.receive() == nil)
        #expect(socket.closeReason == "1200000")
        try await finish(session)
    }
}
