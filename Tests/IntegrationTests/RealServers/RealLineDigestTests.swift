import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The credentials for squid, as Digest authentication has them, and those of servers stay apart, without TLS and with it.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("squid"))
struct RealLineDigestTests {
    private static let started = Peer.started("digest_squid.py")
    /// The password of the proxy, the beginnings of both credentials in Base64, and a wrong password.
    private static let proxySecrets = ["pr0xySecret", "emVsZGE6", "cHIweHlTZWNyZXQ", "wr0ngSecret"]

    private struct Sent: Decodable { let text: String }
    private struct Log: Decodable { let lines: [String] }

    private let peer: Peer
    private let texts = EventTexts()

    init() async throws { peer = try await Self.started.value }

    private func session(
        _ port: String, _ tls: LoopbackServer.TLS, password: String = "pr0xySecret"
    ) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.tls.authorities = .only([.pem(tls.authority.certificate), .file(peer.announcement.ca)])
        let url = try peer.url(port, "", scheme: port.hasSuffix("-tls") ? "https" : "http")
        configuration.proxy = .always(
            try Proxy(url, username: "zelda", password: password, authentication: .digest))
        configuration.eventMonitors = [texts, texts.logger]
        configuration.record(into: texts.recorder)
        return Session(configuration: configuration)
    }

    private func request(_ server: LoopbackServer) -> Request {
        let headers: HTTPFields = [.authorization: "Bearer s3rverSecret", .cookie: "id=s3rverSecret"]
        return Request(server.url("/a"), headers: headers)
    }

    private func server(
        _ scheme: String, _ tls: LoopbackServer.TLS,
        _ handler: @escaping @Sendable (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response
    ) throws -> LoopbackServer {
        scheme == "https" ? try LoopbackServer.https(tls: tls, handler) : try LoopbackServer.http(handler)
    }

    private func expectNone(
        of secrets: [String], in text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for secret in secrets { #expect(!text.contains(secret), "\(secret)", sourceLocation: sourceLocation) }
    }

    /// Returns the lines of squid's log about the servers, which it writes when the tunnels have ended.
    private func log(of servers: [LoopbackServer]) async throws -> [String] {
        while true {
            try Task.checkCancellation()
            let lines = try await peer.answer(Log.self, to: "log").lines
            let found = servers.map { server in lines.filter { $0.contains(" 127.0.0.1:\(server.port) ") } }
            if found.allSatisfy({ lines in lines.contains { $0.hasPrefix("zelda ") } }) { return found.flatMap { $0 } }
        }
    }

    /// With Digest, requests without TLS go through tunnels as well: squid reads the credentials of no server.
    @Test(arguments: ["squid-recorded", "squid-tls"], ["http", "https"])
    func credentialsStayApart(_ port: String, _ scheme: String) async throws {
        let tls = try LoopbackServer.TLS()
        let second = try server(scheme, tls) { _ in .text("second") }
        let target = second.url("/c")
        let first = try server(scheme, tls) { request in
            request.target == "/a"
                ? .init(302, headers: [("Location", "/b")]) : .init(307, headers: [("Location", target)])
        }
        let session = try session(port, tls)
        let request = request(first)
        #expect(try await session.string(request) == "second")
        let command = try session.cURLDescription(of: request)
        await session.shutdown()

        #expect(first.requests.map(\.target) == ["/a", "/b"] && second.requests.map(\.target) == ["/c"])
        #expect(first.requests.allSatisfy { $0["Authorization"] == "Bearer s3rverSecret" && $0["Via"] == nil })
        #expect(second.requests.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil })
        for request in first.requests + second.requests {
            #expect(request["Proxy-Authorization"] == nil)
            let head = String(decoding: request.headBytes, as: UTF8.self)
            expectNone(of: Self.proxySecrets + ["zelda"], in: head)
        }
        let lines = try await log(of: [first, second])
        for line in lines {
            #expect(line.contains(" CONNECT 127.0.0.1:") && line.hasSuffix(" - -"), "\(line)")
            expectNone(of: Self.proxySecrets + ["s3rverSecret", "Basic%20"], in: line)
            #expect(line.hasPrefix("zelda ") == line.contains(" Digest%20username=%22zelda%22,"), "\(line)")
        }
        expectNone(of: Self.proxySecrets + ["zelda"], in: texts.all + command)
        expectNone(of: ["s3rverSecret"], in: texts.written + command)
        guard port == "squid-recorded" else { return }
        let sent = try await peer.answer(Sent.self, to: "sent").text
        #expect(sent.contains("Proxy-Authorization: Digest username=\"zelda\""))
        expectNone(of: Self.proxySecrets + ["Basic "], in: sent)
        for head in sent.components(separatedBy: "\r\n\r\n") where head.contains("CONNECT 127.0.0.1:") {
            expectNone(of: ["s3rverSecret"], in: head)
        }
    }

    /// squid refuses the proof of a wrong password before the server receives anything, and no text has the password.
    @Test(arguments: ["squid-recorded", "squid-tls"], ["http", "https"])
    func aWrongPassword(_ port: String, _ scheme: String) async throws {
        let tls = try LoopbackServer.TLS()
        let server = try server(scheme, tls) { _ in .text("never") }
        let session = try session(port, tls, password: "wr0ngSecret")
        let request = request(server)
        let failure = await expectFailure([.proxy]) { try await session.data(request) }
        let error = try #require(failure)
        let command = try session.cURLDescription(of: request)
        await session.shutdown()
        let number = try #require(peer.announcement.ports[port])
        let expected = TrellisError.ProxyFailure.unauthorized(
            proxy: "127.0.0.1:\(number)", status: 407, hasCredentials: true)
        #expect(error.reason == .proxyFailed(expected) && !error.mayHaveSentBytes && server.requests.isEmpty)
        var dumped = ""
        dump(error, to: &dumped)
        let all = texts.all + command + "\(error) \(String(reflecting: error)) \(dumped)"
        expectNone(of: Self.proxySecrets + ["zelda"], in: all)
        expectNone(of: ["s3rverSecret"], in: texts.written + command + error.description)
    }
}
