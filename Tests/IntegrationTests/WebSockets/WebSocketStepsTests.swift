import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The handshake of a WebSocket takes the steps of a request: redirects, authentication and cookies.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketStepsTests {
    /// Starts a server that accepts a handshake unless the script responds to its request, and sends the messages back.
    private static func server(
        _ fields: [(String, String)] = [],
        refusing refusal: @escaping @Sendable (LoopbackServer.ReceivedRequest) -> String?
    ) throws -> LoopbackServer {
        try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            if let refusal = refusal(request) { return try connection.write(refusal) }
            let peer = try connection.acceptWebSocket(request, headers: fields.map { (name: $0.0, value: $0.1) })
            while let message = try peer.receive() { try peer.send(message) }
        }
    }

    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration)
    }

    /// Checks that a socket works, and closes it.
    private func check(_ socket: WebSocket, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await socket.send("hello")
        let reply = try await socket.receive()
        #expect(reply == .text("hello"), sourceLocation: sourceLocation)
        try await socket.close()
        #expect(socket.closeCode == .normalClosure, sourceLocation: sourceLocation)
    }

    private func finish(_ session: Session, _ servers: LoopbackServer...) async throws {
        await session.shutdown()
        for server in servers {
            try await server.waitUntilAllClosed()
            #expect(server.errors.isEmpty)
        }
    }

    // MARK: Redirects

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectLeadsToAnotherServer(_ status: Int) async throws {
        let target = try Self.server([("Sec-WebSocket-Protocol", "feed")]) { _ in nil }
        let location = target.url("/there", scheme: "ws")
        let server = try Self.server { _ in
            "HTTP/1.1 \(status) Moved\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"
        }
        let session = session()
        let socket = try await session.webSocket(
            server.url("/here", scheme: "ws"), options: WebSocketOptions(subprotocols: ["chat", "feed"]),
            headers: [.authorization: "secret", .origin: "https://example.com"])
        #expect(socket.response.redirects.map(\.to) == [target.url("/there")])
        #expect(socket.subprotocol == "feed" && socket.response.url == location)
        try await check(socket)
        let (first, second) = (try #require(server.requests.first), try #require(target.requests.first))
        for name in ["Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol"] {
            #expect(second[name] == first[name] && second[name] != nil)
        }
        #expect(second["Sec-WebSocket-Extensions"] == first["Sec-WebSocket-Extensions"])
        #expect(second["Sec-WebSocket-Key"] != first["Sec-WebSocket-Key"] && second.method == "GET")
        #expect(first["Authorization"] == "secret" && second["Authorization"] == nil)
        try await finish(session, server, target)
    }

    @Test func aHandshakeIsNotRedirectedForever() async throws {
        let server = try Self.server { request in
            let number = (Int(request.path.dropFirst()) ?? 0) + 1
            return "HTTP/1.1 302 Found\r\nLocation: /\(number)\r\nContent-Length: 0\r\n\r\n"
        }
        let session = session()
        await expectFailure([.tooManyRedirects]) { try await session.webSocket(server.url("/0", scheme: "ws")) }
        try await finish(session, server)
    }

    // MARK: Authentication

    /// Returns a response that asks for credentials; `nil` if the request has some of the scheme.
    private static func challenge(_ request: LoopbackServer.ReceivedRequest, _ scheme: String) -> String? {
        if request["Authorization"]?.hasPrefix(scheme) == true { return nil }
        let parameters = scheme == "Digest" ? ", nonce=\"n\", qop=\"auth\"" : ""
        return "HTTP/1.1 401 Who\r\nWWW-Authenticate: \(scheme) realm=\"r\"\(parameters)\r\n"
            + "Content-Length: 3\r\n\r\nwho"
    }

    @Test(arguments: ["Basic", "Digest"])
    func credentialsAnswerAChallenge(_ scheme: String) async throws {
        let server = try Self.server { Self.challenge($0, scheme) }
        let session = session()
        let request = Request(server.url("/private?a=b", scheme: "ws")).respondingToChallenges(
            username: "ada", password: "secret")
        try await check(try await session.webSocket(request))
        let sent = server.requests.map { $0["Authorization"] ?? "" }
        #expect(sent.count == 2 && sent[0] == "")
        if scheme == "Basic" {
            #expect(sent[1] == "Basic " + Data("ada:secret".utf8).base64EncodedString())
        } else {
            #expect(sent[1].contains("username=\"ada\"") && sent[1].contains("uri=\"/private?a=b\""))
        }
        try await finish(session, server)
    }

    @Test func digestCountsTheHandshakesOfASession() async throws {
        let server = try Self.server { Self.challenge($0, "Digest") }
        let session = session {
            $0.steps.network.append(DigestAuthentication(username: "ada", password: "secret"))
        }
        for _ in 1...2 { try await check(try await session.webSocket(server.url(scheme: "ws"))) }
        let sent = server.requests.map { $0["Authorization"] ?? "" }
        // Only the first handshake is refused.
        #expect(sent.count == 3 && sent[0] == "")
        #expect(sent[1].contains("nc=00000001") && sent[2].contains("nc=00000002"))
        try await finish(session, server)
    }

    @Test func basicCredentialsAreSentAtOnce() async throws {
        let server = try Self.server { Self.challenge($0, "Basic") }
        let session = session {
            $0.steps.adapters.append(BasicAuthentication(username: "ada", password: "secret"))
        }
        try await session.withWebSocket(server.url(scheme: "ws")) { socket in
            try await socket.send("hello")
            let reply = try await socket.receive()
            #expect(reply == .text("hello"))
        }
        #expect(server.requests.count == 1)
        try await finish(session, server)
    }

    @Test func aChallengeWithoutCredentialsIsAnErrorWithItsBody() async throws {
        let server = try Self.server { Self.challenge($0, "Digest") }
        let session = session()
        let error = await expectFailure([.unacceptableStatus]) {
            try await session.webSocket(server.url(scheme: "ws"))
        }
        #expect(error?.response?.status == .unauthorized && error?.bodyExcerpt?.text == "who")
        try await finish(session, server)
    }

    // MARK: Cookies

    @Test func theCookiesOfAnAcceptedHandshakeAreKept() async throws {
        let fields = [("Set-Cookie", "talk=1; Path=/a"), ("Set-Cookie", "other=2; Path=/b")]
        let server = try Self.server(fields) { _ in nil }
        let session = session { $0.steps.cookies = CookieJar() }
        for _ in 1...2 { try await check(try await session.webSocket(server.url("/a", scheme: "ws"))) }
        #expect(server.requests.map { $0["Cookie"] } == [nil, "talk=1"])
        try await finish(session, server)
    }
}
