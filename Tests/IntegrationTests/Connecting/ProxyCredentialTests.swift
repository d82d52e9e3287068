import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// The credentials of a proxy reach only that proxy, those of a server never reach a proxy that cannot read the request, and no text
/// contains any of them.
@Suite(.timeLimit(.minutes(3)))
struct ProxyCredentialTests {
    private static let server = "s3rverSecret"
    private static let secrets = [
        "pr0xySecret", "0therSecret", "zelda", "wilbur", "emVsZGE6cHIweHlT", "d2lsYnVyOjB0aGVy",
    ]

    private func session(
        _ rule: ProxyConfiguration, _ texts: EventTexts = EventTexts(),
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = rule
        configuration.eventMonitors = [texts, texts.logger]
        configuration.record(into: texts.recorder)
        configuration.timeouts.connect = .seconds(60)
        change(&configuration)
        return Session(configuration: configuration)
    }

    private func zelda(_ url: String, _ authentication: Proxy.Authentication = .basic) throws -> Proxy {
        try Proxy(url, username: "zelda", password: "pr0xySecret", authentication: authentication)
    }

    private func isFreeOfSecrets(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
        for secret in Self.secrets {
            #expect(!text.contains(secret), "\(secret)", sourceLocation: sourceLocation)
        }
    }

    private func text(of value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(reflecting: value)) \(dumped)"
    }

    /// Returns the values of a field that a server has got, request by request.
    private func values(_ name: String, _ server: LoopbackServer) -> [String?] { server.requests.map { $0[name] } }

    // MARK: Who gets them

    /// Redirects to other origins, through tunnels: the proxy proves its credentials for each tunnel, and no server sees any of them.
    @Test func redirectsThroughTunnels() async throws {
        let proxy = try LoopbackServer.http { request in
            if request.method == "CONNECT" {
                return request["Proxy-Authorization"] == nil
                    ? .init(407, headers: [("Proxy-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")])
                    : .init(200)
            }
            switch (request["Host"], request.target) {
            case ("first.invalid", "/a"): return .init(302, headers: [("Location", "/b")])
            case ("first.invalid", _): return .init(307, headers: [("Location", "http://second.invalid:81/c")])
            default: return .text("second")
            }
        }
        let texts = EventTexts()
        let session = session(.always(try zelda(proxy.url(""), .digest)), texts)
        let headers: HTTPFields = [.authorization: "Bearer s3rverSecret", .cookie: "id=s3rverSecret"]
        #expect(try await session.string(Request("http://first.invalid/a", headers: headers)) == "second")
        await session.shutdown()

        let tunnels = proxy.requests.filter { $0.method == "CONNECT" }
        #expect(Set(tunnels.map(\.target)) == ["first.invalid:80", "second.invalid:81"])
        #expect(tunnels.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil })
        let inner = proxy.requests.filter { $0.method != "CONNECT" }
        #expect(inner.map(\.target) == ["/a", "/b", "/c"])
        #expect(inner.allSatisfy { $0["Proxy-Authorization"] == nil })
        #expect(inner.map { $0["Authorization"] } == ["Bearer s3rverSecret", "Bearer s3rverSecret", nil])
        #expect(inner.map { $0["Cookie"] } == ["id=s3rverSecret", "id=s3rverSecret", nil])
        isFreeOfSecrets(texts.all)
        for text in [texts.log, texts.recording] {
            #expect(text.contains("first.invalid") && !text.contains(Self.server))
        }
        #expect(texts.recording.contains("second.invalid:81"))
    }

    /// A redirect from `http`, which the proxy reads, to `https`, which it does not: CONNECT has the credentials of the proxy alone.
    @Test func aRedirectToHTTPS() async throws {
        let proxy = try LoopbackServer.http { request in
            request.method == "CONNECT"
                ? .init(503) : .init(302, headers: [("Location", "https://origin.invalid/secure")])
        }
        let texts = EventTexts()
        let session = session(.always(try zelda(proxy.url(""))), texts)
        let headers: HTTPFields = [.authorization: "Bearer s3rverSecret", .cookie: "id=s3rverSecret"]
        let error = await expectFailure([.proxy]) {
            try await session.data(Request("http://origin.invalid/", headers: headers))
        }
        await session.shutdown()
        #expect(proxy.requests.map(\.method) == ["GET", "CONNECT"])
        #expect(values("Authorization", proxy) == ["Bearer s3rverSecret", nil])
        #expect(values("Cookie", proxy) == ["id=s3rverSecret", nil])
        #expect(
            values("Proxy-Authorization", proxy) == [
                "Basic emVsZGE6cHIweHlTZWNyZXQ=", "Basic emVsZGE6cHIweHlTZWNyZXQ=",
            ])
        isFreeOfSecrets(texts.all + text(of: try #require(error)))
        #expect(texts.recording.contains("origin.invalid") && !texts.recording.contains(Self.server))
        #expect(!texts.log.contains(Self.server) && error.map { "\($0)".contains(Self.server) } == false)
    }

    /// A redirect past the proxy, which an exception demands, has none of its credentials.
    @Test func aRedirectPastTheProxy() async throws {
        let server = try LoopbackServer.http { _ in .text("server") }
        let target = server.url("/direct")
        let proxy = try LoopbackServer.http { _ in .init(302, headers: [("Location", target)]) }
        let session = session(.always(try zelda(proxy.url("")), except: "127.0.0.1"))
        #expect(try await session.string("http://origin.invalid/") == "server")
        #expect(values("Proxy-Authorization", server) == [nil] && server.requests[0].target == "/direct")
        await session.shutdown()
    }

    /// Each proxy of a list gets its own credentials, also at each retry.
    @Test func aListOfProxies() async throws {
        let first = try LoopbackServer { connection in _ = try connection.readRequest() }
        let count = Locked(0)
        let second = try LoopbackServer.http { _ in
            count.withLock { count in
                count += 1
                return count < 3 ? .init(503) : .text("third")
            }
        }
        let wilbur = try Proxy(second.url(""), username: "wilbur", password: "0therSecret")
        let texts = EventTexts()
        // The first one is used for tunnels alone: a request that it has read is not sent again elsewhere.
        let session = session(.always([try zelda(first.url(""), .digest), wilbur]), texts) {
            $0.steps.retriers = [RetryPolicy(retryLimit: 3, exponentialBackoffScale: .milliseconds(1))]
        }
        #expect(try await session.string("http://origin.invalid/") == "third")
        await session.shutdown()
        #expect(first.requests.map(\.method) == ["CONNECT"] && values("Proxy-Authorization", first) == [nil])
        #expect(values("Proxy-Authorization", second) == Array(repeating: "Basic d2lsYnVyOjB0aGVyU2VjcmV0", count: 3))
        isFreeOfSecrets(texts.all)
    }

    /// Tunnels and SOCKS connections belong to the credentials that they were opened with.
    @Test(arguments: [Proxy.Kind.http, .socks5h])
    func connectionsAreNotSharedBetweenCredentials(_ kind: Proxy.Kind) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer =
            kind == .http
            ? try LoopbackServer.http { request in
                guard request.method == "CONNECT" else { return .text("ok") }
                return request["Proxy-Authorization"] == nil
                    ? .init(407, headers: [("Proxy-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")])
                    : .init(200)
            }
            : try SOCKSPeer.start(connects: connects)
        let session = session(.direct)
        for name in ["zelda", "wilbur", "zelda", "wilbur"] {
            let proxy = try Proxy(
                "\(kind.rawValue)://127.0.0.1:\(peer.port)", username: name, password: "pr0xySecret",
                authentication: .digest)
            _ = try await session.data(Request("http://origin.invalid/").withProxy(.always(proxy)))
        }
        #expect(peer.acceptedCount == 2)
        await session.shutdown()
    }

    // MARK: What is written about them

    static let rules: [(String, Bool)] = [
        ("http", false), ("http", true), ("https", false), ("socks4", false), ("socks5", false), ("socks5h", true),
    ]

    @Test(arguments: rules)
    func noTextHasASecret(_ scheme: String, _ isInURL: Bool) async throws {
        let gone = try ClosedPort()
        let place = "127.0.0.1:\(gone.port)"
        let proxy =
            isInURL ? try Proxy("\(scheme)://zelda:pr0xySecret@\(place)") : try zelda("\(scheme)://\(place)")
        let texts = EventTexts()
        let session = session(.always(proxy), texts)
        let error = await expectFailure([.proxy]) { try await session.data("http://127.0.0.1:9/") }
        let description = try session.cURLDescription(of: "http://127.0.0.1:9/")
        await session.shutdown()
        #expect(description.contains(place) && texts.all.contains(place))
        let rule = ProxyConfiguration.always([proxy, try Proxy("http://wilbur:0therSecret@b")], except: "a")
        let environment = ProxyEnvironment(["http_proxy": "http://zelda:pr0xySecret@\(place)"])
        let all =
            texts.all + description + text(of: try #require(error)) + text(of: proxy) + text(of: rule)
            + text(of: session.configuration) + text(of: environment)
            + text(of: try environment.decision(for: URLOrigin(scheme: "http", host: "a", port: 80)))
        isFreeOfSecrets(all)
    }

    /// A text that is no URL of a proxy may hold a password anywhere.
    @Test(arguments: [
        "http://zelda:pr0xySecret@", "http://zelda:pr0xySecret@proxy:99999", "ftp://zelda:pr0xySecret@proxy",
        "http://zelda:pr0xySecret@a b",
        "zelda:pr0xySecret@proxy", "http://zelda:pr0xySecret@proxy/path", "http://zelda:pr0xySecret@[::1",
        "//zelda:pr0xySecret@proxy",
        "http://zelda:pr0xySecret@proxy?q#pr0xySecret",
    ])
    func theErrorOfAMalformedProxyHasNoSecret(_ url: String) async throws {
        let error = #expect(throws: TrellisError.self) { try Proxy(url) }
        isFreeOfSecrets(text(of: try #require(error)))
        guard !url.hasSuffix("path"), !url.hasSuffix("pr0xySecret"), !url.hasPrefix("zelda"), !url.hasPrefix("//")
        else { return }
        let environment = ProxyEnvironment(["http_proxy": url])
        let failure = #expect(throws: TrellisError.self) {
            try environment.decision(for: URLOrigin(scheme: "http", host: "a", port: 80))
        }
        isFreeOfSecrets(text(of: try #require(failure)) + text(of: environment))
    }
}
