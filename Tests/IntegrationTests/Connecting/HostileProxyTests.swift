import Foundation
import Testing
import Trellis
import TrellisTesting

/// HTTP proxies that break the rules in their response to CONNECT. Every failure is one of the proxy or of a time limit, ends in finite
/// time, and sends nothing to a server.
@Suite(.timeLimit(.minutes(3)))
struct HostileProxyTests {
    /// A row: the response to CONNECT with the end of the connection, and the kinds that the error may have.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let answer: String
        let ending: Ending
        let kinds: [TrellisError.Kind]
        /// A text that the proxy repeats without end after its response.
        var repeated: String?

        init(
            _ name: String, _ answer: String, then ending: Ending = .keepOpen, _ kinds: TrellisError.Kind...,
            forever repeated: String? = nil
        ) {
            (self.name, self.answer, self.ending, self.kinds) = (name, answer, ending, kinds)
            self.repeated = repeated
        }

        var testDescription: String { "\(name), then \(repeated == nil ? "\(ending)" : "more")" }
    }

    static let halves = [
        "", "H", "HTTP/1.1 2", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nVia: x", "HTTP/1.1 200 OK\r\nVia: x\r\n",
    ]

    static let cutHeads: [Row] = halves.flatMap { half in
        [
            Row("'\(half)'", half, then: .close, .proxy), Row("'\(half)'", half, then: .reset, .proxy),
            Row("'\(half)'", half, then: .keepOpen, .connectTimeout),
        ]
    }

    static let refusal = "HTTP/1.1 403 No\r\n"
    static let question = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"r\"\r\n"

    static let rows: [Row] = [
        Row("a line without end", "", .proxy, .connectTimeout, forever: "x"),
        Row("a status line without end", "HTTP/1.1 200 ", .proxy, .connectTimeout, forever: "x"),
        Row("a field without end", "HTTP/1.1 200 OK\r\nX: ", .proxy, .connectTimeout, forever: "x"),
        Row("fields without end", "HTTP/1.1 200 OK\r\n", .proxy, .connectTimeout, forever: "X: y\r\n"),
        Row("informational heads without end", "", .proxy, .connectTimeout, forever: "HTTP/1.1 100 Go on\r\n\r\n"),
        Row("an upgrade", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", then: .close, .proxy),
        Row("a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", then: .close, .proxy),
        Row("no status", "HTTP/1.1 \r\n\r\n", then: .close, .proxy),
        Row("another protocol", "RTSP/1.0 200 OK\r\n\r\n", then: .close, .proxy),
        Row("line feeds alone", "\n\n\n\n", then: .close, .proxy),
        Row("NULs", "\0\0\0\0\r\n\r\n", then: .close, .proxy),
        Row("a refusal, and its body without end", refusal + "\r\n", .proxy, .connectTimeout, forever: "x"),
        Row(
            "a refusal, and a long body without end", refusal + "Content-Length: 99999999999\r\n\r\n", .proxy,
            .connectTimeout, forever: "x"),
        Row("a refusal, and half of its body", refusal + "Content-Length: 5\r\n\r\nab", then: .close, .proxy),
        Row("a refusal, and a silent body", refusal + "Content-Length: 5\r\n\r\n", .proxy, .connectTimeout),
        Row(
            "a refusal with two lengths", refusal + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
            then: .close, .proxy),
        Row(
            "a refusal, and a malformed chunk", refusal + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", then: .close,
            .proxy),
        Row(
            "a refusal, and chunks without end", refusal + "Transfer-Encoding: chunked\r\n\r\n", .proxy,
            .connectTimeout, forever: "1\r\nx\r\n"),
        Row("a question, and a silent body", question + "Content-Length: 5\r\n\r\n", .proxy, .connectTimeout),
        Row("a question, and its body without end", question + "\r\n", .proxy, .connectTimeout, forever: "x"),
        Row("a question, and half of its body", question + "Content-Length: 5\r\n\r\nab", then: .close, .proxy),
        Row("a question that asks for nothing", "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", then: .close, .proxy),
        Row(
            "a malformed question",
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest \"\"=,,=\r\nContent-Length: 0\r\n\r\n", then: .close, .proxy
        ),
        Row(
            "a question for a secret",
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Negotiate\r\n"
                + "Content-Length: 0\r\n\r\n",
            then: .close, .proxy),
    ]

    private let clock = TestClock()

    /// Returns a session whose limit on connecting is that of ``clock``.
    private func session(_ server: LoopbackServer, _ authentication: Proxy.Authentication) throws -> Session {
        Session(configuration: try ProxyPeer.configuration(server, authentication), clock: clock)
    }

    /// The size of a text that is far beyond libcurl's limits.
    private static let plenty = 1 << 20

    @Test(arguments: cutHeads + rows, Proxy.Authentication.allCases)
    func theAnswerToCONNECT(_ row: Row, _ authentication: Proxy.Authentication) async throws {
        let reached = LoopbackServer.Gate()
        let proxy = try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                try connection.write(row.answer)
                if let text = row.repeated.map({ Array(String(repeating: $0, count: 1000).utf8) }) {
                    for _ in 0...(Self.plenty / text.count) { try connection.write(text) }
                    reached.open()
                    while true { try connection.write(text) }
                }
                reached.open()
                row.ending.apply(to: connection)
            }
        }
        let session = try session(proxy, authentication)
        // With Digest, requests for `http` URLs go through a tunnel too.
        let url = authentication == .digest ? "http://origin.invalid/a" : "https://origin.invalid/a"
        let error =
            if row.kinds.contains(.connectTimeout) {
                try await expectTimeout(row.kinds, after: .seconds(10), on: clock, in: session, once: reached) {
                    try await session.data(url)
                }
            } else {
                await expectFailure(row.kinds) { try await session.data(url) }
            }
        #expect(error?.mayHaveSentBytes == false && error?.isConnectionFailure == true)
        for secret in ["Secret", "J\u{e4}s", "Basic "] {
            #expect(error.map { "\($0) \(String(reflecting: $0))".contains(secret) } == false)
        }
        // With `any`, another connection may ask again with Digest.
        #expect(proxy.requests.allSatisfy { $0.method == "CONNECT" } && proxy.requests.count <= 4)
        await isHealthyAndLeavesNothing(session, proxy)
    }

    /// Checks that the session still serves another request, and that nothing is left of the connections to the proxy.
    private func isHealthyAndLeavesNothing(_ session: Session, _ proxy: LoopbackServer) async {
        await #expect(throws: Never.self) {
            let server = try LoopbackServer.http { _ in .text("good") }
            let text = try await session.string(Request(server.url()).withProxy(ProxyConfiguration.direct))
            #expect(text == "good")
            await session.shutdown()
            try await proxy.waitUntilAllClosed()
        }
    }

    /// A proxy that is never content with the proof, and asks again with another nonce, is asked a few times at most.
    @Test(arguments: ["", ", stale=true", ", stale=TRUE, algorithm=SHA-256"], [false, true])
    func aProxyThatAsksForever(_ parameters: String, _ closes: Bool) async throws {
        let proxy = try LoopbackServer { connection in
            var number = 0
            while try connection.nextRequest() != nil {
                number += 1
                try connection.write(
                    "HTTP/1.1 407 Who\r\n"
                        + "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\(number)\", qop=\"auth\"\(parameters)\r\n"
                        + (closes ? "Connection: close\r\n" : "") + "Content-Length: 2\r\n\r\nno")
                if closes { return }
            }
        }
        let session = try session(proxy, .digest)
        let error = await expectFailure([.proxy]) { try await session.data("http://origin.invalid/") }
        #expect(error?.description.contains("does not accept the session's credentials") == true, "\(error as Any)")
        #expect(proxy.requests.count <= 8, "\(proxy.requests.count)")
        await isHealthyAndLeavesNothing(session, proxy)
    }

    /// Any 2xx opens the tunnel, and has no body, whatever its fields say (RFC 9110, section 9.3.6).
    @Test(arguments: [
        "200 OK\r\n\r\n", "204 No\r\n\r\n", "299 Odd\r\n\r\n", "200 OK\r\nContent-Length: 5\r\n\r\n",
        "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 OK\r\nConnection: close\r\n\r\n",
        "200 OK\r\nProxy-Authenticate: Basic realm=r\r\nSet-Cookie: a=b\r\nLocation: http://evil.invalid/\r\n\r\n",
    ])
    func anySuccessOpensTheTunnel(_ answer: String) async throws {
        let proxy = try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                try connection.write(
                    request.method == "CONNECT"
                        ? "HTTP/1.1 \(answer)" : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let session = try session(proxy, .digest)
        let (data, response) = try await session.data("http://origin.invalid/")
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        #expect(response.headers[.setCookie] == nil && response.informational.isEmpty)
        #expect(proxy.requests.map(\.method) == ["CONNECT", "GET"])
        await isHealthyAndLeavesNothing(session, proxy)
    }

    /// Bytes after the head of a 2xx are the first ones of the tunnel: those of the server.
    @Test(arguments: [
        "garbage", "Content", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", "\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{0}\u{2}ab",
    ])
    func bytesAfterTheTunnelWasOpened(_ garbage: String) async throws {
        let proxy = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(garbage.utf8.count)\r\n\r\n\(garbage)")
            connection.waitUntilReceived()
            connection.shutdownWrite()
        }
        let session = try session(proxy, .basic)
        let error = await expectFailure([.tls, .connect, .proxy]) { try await session.data("https://origin.invalid/") }
        #expect(error?.mayHaveSentBytes == false)
        await isHealthyAndLeavesNothing(session, proxy)
    }

    /// Garbage in place of the response in a tunnel is a malformed response of the server.
    @Test func garbageInTheTunnel() async throws {
        let proxy = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\r\n")
            _ = try connection.nextRequest()
            try connection.write("garbage\r\n\r\n")
        }
        let session = try session(proxy, .digest)
        await expectFailure([.malformedResponse]) { try await session.data("http://origin.invalid/") }
        await isHealthyAndLeavesNothing(session, proxy)
    }
}
