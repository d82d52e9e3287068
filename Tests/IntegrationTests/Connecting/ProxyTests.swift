import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Requests pass through an HTTP proxy.
@Suite(.timeLimit(.minutes(3)))
struct ProxyTests {
    private static let origin = "http://origin.invalid:81/a?b=c"
    /// The value of the field: `ProxyPeer.username` and `ProxyPeer.password` in Base64.
    private static let basic = "Basic " + Data("\(ProxyPeer.username):\(ProxyPeer.password)".utf8).base64EncodedString()

    @Test(arguments: [nil, .basic] as [Proxy.Authentication?])
    func theProxyIsAskedForTheWholeURL(_ authentication: Proxy.Authentication?) async throws {
        let proxy = try LoopbackServer.http { _ in .text("from afar") }
        let session = Session(configuration: try ProxyPeer.configuration(proxy, authentication))
        for _ in 1...2 {
            let (data, response) = try await session.data(Self.origin)
            #expect(String(decoding: data, as: UTF8.self) == "from afar")
            #expect(response.status == .ok)
        }
        for request in proxy.requests {
            #expect(request.method == "GET" && request.target == Self.origin)
            #expect(request["Host"] == "origin.invalid:81")
            #expect(request.values(of: "Proxy-Authorization") == (authentication == nil ? [] : [Self.basic]))
            #expect(request["Authorization"] == nil)
        }
        #expect(proxy.requests.count == 2 && proxy.acceptedCount == 1)
        await session.shutdown()
        try await proxy.waitUntilAllClosed()
    }

    /// An empty query is a query (RFC 3986, section 5.2.2), for servers and for proxies. The row has a path and query, and the target.
    @Test(arguments: [("/x?", "/x?"), ("/x", "/x"), ("?", "/?"), ("/a/../b?#f", "/b?"), ("/x??", "/x??")])
    func anEmptyQueryIsSent(_ text: String, _ target: String) async throws {
        let server = try LoopbackServer.http { .text($0.target) }
        let proxied = Session(configuration: try ProxyPeer.configuration(server, nil))
        // The request after one with an empty query has no query.
        for (text, target) in [(text, target), ("/last", "/last")] {
            #expect(try await proxied.string("http://origin.invalid:81\(text)") == "http://origin.invalid:81\(target)")
        }
        await proxied.shutdown()
        let direct = Session()
        #expect(try await direct.string("http://127.0.0.1:\(server.port)\(text)") == target)
        await direct.shutdown()
    }

    /// A proxy is asked for the whole URL of a request whose path and query are sent byte for byte, too.
    @Test(arguments: [
        ("GET", "/a/../b?", "http://origin.invalid:81/a/../b?"), ("OPTIONS", "", "http://origin.invalid:81"),
        ("GET", "", "http://origin.invalid:81/"),
    ])
    func theURLIsWholeIfItIsUnchanged(_ method: String, _ text: String, _ target: String) async throws {
        let proxy = try LoopbackServer.http { .text($0.target) }
        let session = Session(configuration: try ProxyPeer.configuration(proxy, nil))
        let method = try #require(HTTPRequest.Method(rawValue: method))
        let request = Request("http://origin.invalid:81\(text)", method: method).setting(\.sendsURLUnchanged, to: true)
        #expect(try await session.string(request) == target)
        await session.shutdown()
    }

    @Test(arguments: [407, 502], [nil, .basic] as [Proxy.Authentication?])
    func withoutATunnelItsRefusalIsAnAnswer(_ status: Int, _ authentication: Proxy.Authentication?)
        async throws
    {
        let proxy = try LoopbackServer.http { _ in
            .init(
                status, headers: [("Proxy-Authenticate", "Basic realm=\"r\"")], body: Data("no".utf8))
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy, authentication))
        let (data, response) = try await session.data(Request(Self.origin, method: .post, body: .string("abc")))
        #expect(response.status.code == status && String(decoding: data, as: UTF8.self) == "no")
        #expect(response.headers[.proxyAuthenticate] == "Basic realm=\"r\"")
        #expect(proxy.requests.map(\.body) == [Data("abc".utf8)])
        await session.shutdown()
    }

    /// Digest authentication opens a tunnel. The credentials are proved to the proxy, and the requests in the tunnel contain none of them.
    @Test(arguments: [false, true])
    func digestIsATunnelForEverything(_ closesAfterChallenge: Bool) async throws {
        let proxy = try ProxyPeer.digest(closesAfterChallenge: closesAfterChallenge)
        let session = Session(configuration: try ProxyPeer.configuration(proxy, .digest))
        for _ in 1...2 {
            let request = Request(Self.origin, method: .post, body: .string("abc"))
            let (data, response) = try await session.data(request)
            #expect(String(decoding: data, as: UTF8.self) == "through the tunnel")
            #expect(response.headers[.proxyAuthenticate] == nil && response.status == .ok)
        }
        let requests = proxy.requests
        #expect(requests.map(\.method) == ["CONNECT", "CONNECT", "POST", "POST"])
        #expect(requests.map(\.target) == ["origin.invalid:81", "origin.invalid:81", "/a?b=c", "/a?b=c"])
        #expect(requests.map { $0["Proxy-Authorization"]?.prefix(7) } == [nil, "Digest ", nil, nil])
        #expect(requests.suffix(2).allSatisfy { $0.body == Data("abc".utf8) })
        #expect(!requests.contains { String(decoding: $0.headBytes, as: UTF8.self).contains("Basic") })
        #expect(proxy.acceptedCount == (closesAfterChallenge ? 2 : 1))
        await session.shutdown()
        try await proxy.waitUntilAllClosed()
    }

    /// The challenge of the proxy decides about the credentials of its URL, and the session remembers the scheme.
    @Test func theChallengeDecides() async throws {
        let proxy = try ProxyPeer.digestAlone()
        let user = try #require(ProxyPeer.username.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let password = try #require(ProxyPeer.password.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("http://\(user):\(password)@127.0.0.1:\(proxy.port)"))
        let session = Session(configuration: configuration)
        for target in ["", "", "/other"] {
            let url = target.isEmpty ? Self.origin : "http://other.invalid\(target)"
            let (data, response) = try await session.data(Request(url, method: .post, body: .string("abc")))
            #expect(String(decoding: data, as: UTF8.self) == "through the tunnel" && response.status == .ok)
            #expect(response.metrics.attemptCount == 1)
        }
        let requests = proxy.requests.map { request in
            "\(request.method) \(request["Proxy-Authorization"].map { $0.prefix(6) } ?? "-")"
        }
        // For the second tunnel, libcurl may still know the challenge of the first one.
        let tunnel = ["CONNECT -", "CONNECT Digest", "POST -"]
        #expect(Array(requests.prefix(5)) == ["POST Basic "] + tunnel + ["POST -"])
        #expect([tunnel, Array(tunnel.dropFirst())].contains(Array(requests.dropFirst(5))))
        await session.shutdown()
    }

    /// The response in a tunnel is the server's, whatever its status: the server has received the request already.
    @Test func aServersChallengeInATunnelIsItsOwn() async throws {
        let proxy = try LoopbackServer { connection in
            while let head = try connection.readHead() {
                _ = try connection.readBody(of: head)
                let challenge =
                    "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\nContent-Length: 0\r\n\r\n"
                try connection.write(head.method == "CONNECT" ? "HTTP/1.1 200 OK\r\n\r\n" : challenge)
            }
        }
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy(proxy.url(), username: "ada", password: "x"))
        configuration.route.connectTo = [try ConnectTo("::other.invalid:80")]
        let session = Session(configuration: configuration)
        let (_, response) = try await session.data(Request(Self.origin, method: .post, body: .string("abc")))
        #expect(response.status.code == 407 && proxy.requests.map(\.method) == ["CONNECT", "POST"])
        await session.shutdown()
    }

    /// A server that asks as proxies do, behind a proxy that passes its response on, and makes no tunnel (RFC 9110, section 11.7.1).
    @Test(arguments: [403, 407], [false, true])
    func aChallengeThatWasPassedOnIsTheResponse(_ status: Int, _ isStreamed: Bool) async throws {
        let proxy = try LoopbackServer.http { request in
            if request.method == "CONNECT" {
                return .init(status, headers: [("Proxy-Authenticate", "Basic realm=\"r\"")], body: Data("no!".utf8))
            }
            let challenge = "Digest realm=\"r\", nonce=\"n1\""
            return .init(407, headers: [("Proxy-Authenticate", challenge)], body: Data("who are you?".utf8))
        }
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy(proxy.url(), username: "ada", password: "x"))
        let session = Session(configuration: configuration)
        let request = Request(Self.origin, method: .post, body: .string("abc"))
        if isStreamed {
            let stream = try await session.stream(request)
            let body = try await stream.chunks.collect(upTo: 100)
            #expect(stream.response.status.code == 407 && body == Data("who are you?".utf8))
        } else {
            let (body, response) = try await session.data(request)
            #expect(response.status.code == 407 && body == Data("who are you?".utf8))
        }
        #expect(proxy.requests.first?.method == "POST" && proxy.requests.dropFirst().first?.method == "CONNECT")
        await session.shutdown()
    }

    /// A body that can be read only once is not sent a second time: the proxy's challenge is the response.
    @Test func theChallengeIsTheResponseIfTheBodyIsGone() async throws {
        let proxy = try ProxyPeer.digestAlone()
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy(proxy.url(), username: "ada", password: "x"))
        let session = Session(configuration: configuration)
        let body = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let (_, response) = try await session.data(Request(Self.origin, method: .post, body: body))
        #expect(response.status.code == 407 && proxy.requests.count == 1)
        await session.shutdown()
    }

    /// The proxy of a tunnel receives none of the request's fields, which are for the server.
    @Test func theProxyOfATunnelSeesNoFields() async throws {
        let proxy = try ProxyPeer.digest()
        let session = Session(configuration: try ProxyPeer.configuration(proxy, .digest))
        _ = try await session.data(Request(Self.origin, headers: [.authorization: "Bearer x", .cookie: "a=b"]))
        #expect(proxy.requests.map { $0["Authorization"] } == [nil, nil, "Bearer x"])
        #expect(proxy.requests.map { $0["Cookie"] } == [nil, nil, "a=b"])
        await session.shutdown()
    }

    // MARK: Failures of a tunnel

    static let refusals: [(Int, Proxy.Authentication?, Bool, String)] = [
        (407, nil, false, "asks for credentials (407), and the session has none for it"),
        (407, .basic, false, "does not accept the session's credentials, or not in this way (407)"),
        (407, .digest, false, "does not accept the session's credentials, or not in this way (407)"),
        (403, .basic, false, "makes no tunnel to the server: 403 (Forbidden)"),
        (502, nil, true, "makes no tunnel to the server: 502 (Bad Gateway)"),
        (302, nil, false, "makes no tunnel to the server: 302 (Found)"),
    ]

    @Test(arguments: refusals)
    func aRefusedTunnelIsTheProxysFailure(
        _ status: Int, _ authentication: Proxy.Authentication?, _ isRetryable: Bool, _ words: String
    ) async throws {
        let proxy = try LoopbackServer.http { _ in
            .init(
                status, headers: [("Proxy-Authenticate", "Basic realm=\"r\""), ("Location", "http://x.example/")],
                body: Data("a page".utf8))
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy, authentication))
        let error = await fails(session, [.proxy], "https://origin.invalid/a")
        #expect(error?.isRetryable == isRetryable)
        #expect(
            error?.description == "GET https://origin.invalid/a: the proxy 127.0.0.1:\(proxy.port) \(words)")
        #expect(proxy.requests.allSatisfy { $0.method == "CONNECT" && $0.target == "origin.invalid:443" })
        let sent = proxy.requests.compactMap { $0["Proxy-Authorization"] }
        #expect(sent == (authentication == .basic ? [Self.basic] : []))
        await session.shutdown()
        try await proxy.waitUntilAllClosed()
    }

    @Test func aWrongPasswordIsNotTriedTwice() async throws {
        let proxy = try ProxyPeer.digest()
        let session = Session(configuration: try ProxyPeer.configuration(proxy, .digest, password: "wrong"))
        let error = await fails(session, [.proxy], Self.origin)
        #expect(error?.isRetryable == false)
        #expect(proxy.requests.count == 2)
        await session.shutdown()
    }

    @Test("a proxy that is none", arguments: ["", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 what\r\n\r\n", "HTTP/1.1 2"])
    func noAnswerToCONNECT(_ answer: String) async throws {
        let proxy = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.write(answer)
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy, .basic))
        let error = await fails(session, [.proxy], "https://origin.invalid/a")
        #expect(error?.isRetryable == true)
        await session.shutdown()
        try await proxy.waitUntilAllClosed()
    }

    /// A failure inside an open tunnel is not a failure of the proxy.
    @Test func failuresInTheTunnelAreTheServers() async throws {
        let proxy = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.write("HTTP/1.1 200 Go ahead\r\n\r\n")
            _ = try connection.read()
            try connection.write("HTTP/1.1 400 No TLS here\r\n\r\n")
        }
        let session = Session(configuration: try ProxyPeer.configuration(proxy))
        await fails(session, [.tls], "https://origin.invalid/a")
        await session.shutdown()
    }

    @Test(arguments: ["http://origin.invalid/", "https://origin.invalid/"])
    func aProxyThatIsNotThere(_ url: String) async throws {
        let gone = try ClosedPort()
        let session = Session(configuration: try ProxyPeer.configuration(gone.url(), .basic))
        let error = await fails(session, [.proxy], url)
        #expect(error?.isRetryable == true)
        #expect(error?.description.contains(": no connection to the proxy 127.0.0.1:\(gone.port): ") == true)
        await session.shutdown()
    }

    @Test(arguments: ["http://origin.invalid/", "https://origin.invalid/"])
    func aProxyWhoseNameIsUnknown(_ url: String) async throws {
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("http://\(String(repeating: "a", count: 64)).invalid:3128"))
        let session = Session(configuration: configuration)
        let error = await fails(session, [.proxy], url)
        #expect(error?.description.contains(".invalid:3128 could not be resolved") == true)
        await session.shutdown()
    }

    @Test func aSocketGoesPastTheProxy() async throws {
        let gone = try ClosedPort()
        let path = try temporaryFolder("past-proxy") + "/socket"
        let server = try LoopbackServer.http(on: .unix(path: path)) { _ in .text("ok") }
        var configuration = try ProxyPeer.configuration(gone.url(), .digest)
        configuration.route = try .unixSocket(path)
        let session = Session(configuration: configuration)
        let (data, _) = try await session.data("http://localhost/a")
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        #expect(server.requests.map(\.target) == ["/a"])
        #expect(server.requests[0]["Proxy-Authorization"] == nil)
        await session.shutdown()
    }

    @discardableResult
    private func fails(_ session: Session, _ kinds: [TrellisError.Kind], _ url: String) async -> TrellisError? {
        let error = await expectFailure(kinds) { try await session.data(url) }
        #expect(error?.isConnectionFailure == true && error?.mayHaveSentBytes == false)
        for secret in ["Secret", "J\u{e4}s", Self.basic] {
            #expect(error.map { "\($0) \(String(reflecting: $0))".contains(secret) } == false)
        }
        return error
    }
}
