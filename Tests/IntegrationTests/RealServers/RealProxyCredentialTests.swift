import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The credentials of a real proxy reach no server, and those of a server reach no proxy that cannot read its requests, across
/// redirects and retries. Everything that reaches the proxies is overheard.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct RealProxyCredentialTests {
    /// A kind of real proxies.
    enum Name: String, Sendable, CaseIterable {
        case squid, tinyproxy, danted

        /// Whether the proxy can run here. dante needs a table of mounts of its own, like the namespaces of other tests.
        var isInstalled: Bool { Peer.isInstalled(rawValue) && (self != .danted || TestMachine.isAvailable) }
        var scheme: String { self == .danted ? "socks5h" : "http" }
        /// The bytes with which the proxy gets the credentials (RFC 7617 and RFC 1929).
        var proof: String { self == .danted ? "\u{5}zelda\u{b}pr0xySecret" : "Basic emVsZGE6cHIweHlTZWNyZXQ=" }
    }

    private static let installed = Name.allCases.filter(\.isInstalled)
    private static let readers = installed.filter { $0 != .danted }
    private static let peers: [Name: Task<Peer, any Error>] = [
        .squid: Peer.started("real_proxies.py", "squid"), .tinyproxy: Peer.started("real_proxies.py", "tinyproxy"),
        .danted: Peer.started("real_proxies.py", "danted"),
    ]
    /// The name and the password of the proxies, as they are and in Base64, and a wrong password in both forms.
    private static let proxySecrets = [
        "zelda", "pr0xySecret", "emVsZGE6", "cHIweHlTZWNyZXQ", "wr0ngSecret", "d3IwbmdTZWNyZXQ",
    ]

    private struct Sent: Decodable { let text: String }
    private struct Log: Decodable { let lines: [String] }

    private func peer(_ name: Name) async throws -> Peer {
        let task = try #require(Self.peers[name])
        return try await task.value
    }

    private func session(
        _ name: Name, _ peer: Peer, _ texts: EventTexts, _ tls: LoopbackServer.TLS, username: String = "zelda",
        password: String = "pr0xySecret"
    ) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = tls.authority.tlsConfiguration
        let url = try peer.url("\(name.rawValue)-recorded", "", scheme: name.scheme)
        configuration.proxy = .always(
            try Proxy(url, username: username, password: password, authentication: .basic))
        configuration.steps.retriers = [RetryPolicy(retryLimit: 3, exponentialBackoffScale: .milliseconds(1))]
        configuration.eventMonitors = [texts, texts.logger]
        configuration.record(into: texts.recorder)
        return Session(configuration: configuration)
    }

    private func expectNone(
        of secrets: [String], in text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for secret in secrets { #expect(!text.contains(secret), "\(secret)", sourceLocation: sourceLocation) }
    }

    private func text(of error: TrellisError) -> String {
        var dumped = ""
        dump(error, to: &dumped)
        return "\(error) \(String(reflecting: error)) \(dumped)"
    }

    /// Returns a request with the credentials of a server.
    private func request(_ server: LoopbackServer, _ secret: String) -> Request {
        let headers: HTTPFields = [.authorization: "Bearer \(secret)", .cookie: "id=\(secret)"]
        return Request(server.url("/a"), headers: headers)
    }

    /// Expects that servers have received requests without credentials of a proxy.
    private func expectNoProxyCredentials(
        _ servers: LoopbackServer..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for request in servers.flatMap(\.requests) {
            #expect(request["Proxy-Authorization"] == nil, sourceLocation: sourceLocation)
            let head = String(decoding: request.headBytes, as: UTF8.self)
            expectNone(of: Self.proxySecrets, in: head, sourceLocation: sourceLocation)
        }
    }

    /// Returns a handler that fails at first, and then redirects from `/a` to `/b`, and from there to another server.
    private func redirecting(
        to target: String
    ) -> @Sendable (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response {
        let hasFailed = Locked(false)
        return { request in
            let isFirst = hasFailed.withLock { hasFailed in
                defer { hasFailed = true }
                return !hasFailed
            }
            if isFirst { return .init(503) }
            return request.target == "/a"
                ? .init(302, headers: [("Location", "/b")]) : .init(307, headers: [("Location", target)])
        }
    }

    /// Returns the lines of squid's log about the servers, which it writes when requests and tunnels have ended.
    private func log(_ peer: Peer, of servers: LoopbackServer...) async throws -> [String] {
        while true {
            try Task.checkCancellation()
            let lines = try await peer.answer(Log.self, to: "log").lines
            let found = servers.map { server in lines.filter { $0.contains("127.0.0.1:\(server.port)") } }
            if found.allSatisfy({ !$0.isEmpty }) { return found.flatMap { $0 } }
        }
    }

    /// Requests over TLS go through tunnels: the proxy learns the host and the port alone.
    @Test(arguments: installed)
    func tunnels(_ name: Name) async throws {
        let (peer, tls, texts) = (try await self.peer(name), try LoopbackServer.TLS(), EventTexts())
        let second = try LoopbackServer.https(tls: tls) { _ in .text("second") }
        let first = try LoopbackServer.https(tls: tls, redirecting(to: second.url("/c")))
        let session = try session(name, peer, texts, tls)
        let request = request(first, "s3rverSecret")
        #expect(try await session.string(request) == "second")
        let command = try session.cURLDescription(of: request)
        await session.shutdown()

        #expect(Set(first.requests.map(\.target)) == ["/a", "/b"] && first.requests.count >= 3)
        #expect(first.requests.allSatisfy { $0["Authorization"] == "Bearer s3rverSecret" })
        #expect(first.requests.allSatisfy { $0["Cookie"] == "id=s3rverSecret" })
        #expect(second.requests.map(\.target) == ["/c"])
        #expect(second.requests.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil })
        expectNoProxyCredentials(first, second)
        let sent = try await peer.answer(Sent.self, to: "sent \(name.rawValue)").text
        #expect(sent.contains(name.proof))
        expectNone(of: ["s3rverSecret"], in: sent)
        expectNone(of: Self.proxySecrets, in: texts.all + command)
        expectNone(of: ["s3rverSecret"], in: texts.written + command)
        #expect(texts.written.contains("127.0.0.1:\(second.port)/c") && command.contains("127.0.0.1:\(first.port)/a"))
        guard name == .squid else { return }
        let lines = try await log(peer, of: first, second)
        let isAlone = lines.allSatisfy { $0.hasPrefix("zelda CONNECT 127.0.0.1:") && $0.hasSuffix("ZWNyZXQ= - -") }
        #expect(isAlone, "\(lines)")
    }

    /// Requests without TLS are read by the proxy, with the credentials of their own server alone.
    @Test(arguments: readers)
    func requestsThatTheProxyReads(_ name: Name) async throws {
        let (peer, tls, texts) = (try await self.peer(name), try LoopbackServer.TLS(), EventTexts())
        let second = try LoopbackServer.http { _ in .text("second") }
        let first = try LoopbackServer.http(redirecting(to: second.url("/c")))
        let session = try session(name, peer, texts, tls)
        #expect(try await session.string(request(first, "0penSecret")) == "second")
        await session.shutdown()

        #expect(Set(first.requests.map(\.target)) == ["/a", "/b"] && second.requests.map(\.target) == ["/c"])
        #expect(first.requests.allSatisfy { $0["Authorization"] == "Bearer 0penSecret" && $0["Via"] != nil })
        #expect(second.requests.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil && $0["Via"] != nil })
        expectNoProxyCredentials(first, second)
        let sent = try await peer.answer(Sent.self, to: "sent \(name.rawValue)").text
        let heads = sent.components(separatedBy: "\r\n\r\n").filter { $0.contains(" http://127.0.0.1:") }
        #expect(heads.contains { $0.contains(":\(second.port)/c ") })
        for head in heads where head.contains(":\(second.port)/c ") { expectNone(of: ["0penSecret"], in: head) }
        expectNone(of: Self.proxySecrets, in: texts.all)
        expectNone(of: ["0penSecret"], in: texts.written)
        guard name == .squid else { return }
        let lines = try await log(peer, of: second)
        let isAlone = lines.allSatisfy { $0.hasPrefix("zelda GET http://") && $0.hasSuffix("ZWNyZXQ= - -") }
        #expect(isAlone, "\(lines)")
    }

    /// The proxy refuses a wrong password before the server receives anything, and no text repeats the password.
    @Test(arguments: installed)
    func aWrongPassword(_ name: Name) async throws {
        let (peer, tls, texts) = (try await self.peer(name), try LoopbackServer.TLS(), EventTexts())
        let server = try LoopbackServer.https(tls: tls) { _ in .text("never") }
        // squid keeps one password for a name: a wrong one has a name of its own.
        let username = name == .squid ? "ganon" : "zelda"
        let session = try session(name, peer, texts, tls, username: username, password: "wr0ngSecret")
        let request = request(server, "s3rverSecret")
        let failure = await expectFailure([.proxy]) { try await session.data(request) }
        let error = try #require(failure)
        let command = try session.cURLDescription(of: request)
        await session.shutdown()
        #expect(server.requests.isEmpty && !error.mayHaveSentBytes)
        let sent = try await peer.answer(Sent.self, to: "sent \(name.rawValue)").text
        let basic = "Basic " + Data("\(username):wr0ngSecret".utf8).base64EncodedString()
        #expect(sent.contains(name == .danted ? "\u{5}zelda\u{b}wr0ngSecret" : basic))
        expectNone(of: ["s3rverSecret"], in: sent)
        expectNone(of: Self.proxySecrets + ["ganon", "Z2Fub246"], in: texts.all + command + text(of: error))
        expectNone(of: ["s3rverSecret"], in: texts.written + command + error.description)
        let port = try #require(peer.announcement.ports["\(name.rawValue)-recorded"])
        #expect(error.description.contains("127.0.0.1:\(port)"), "\(error)")
    }
}
