import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Requests pass through tinyproxy, which requires a name and a password, to real servers.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("tinyproxy"))
struct RealProxyTests {
    private let peer: Peer

    init() async throws { peer = try await Peer.realServers.value }

    private func session(password: String? = "s3cret") throws -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .always(
            try Proxy(
                try peer.url("tinyproxy", scheme: "http"), username: password.map { _ in "ada" }, password: password))
        return Session(configuration: configuration)
    }

    private func request(_ path: String, _ pair: RealServerTests.Pair) throws -> Request {
        var request = Request(try peer.url(pair.server, path))
        request.httpVersion = pair.policy
        return request
    }

    static let pairs = RealServerTests.Pair.all.filter { $0.version != .http3 }
    /// The pairs of tests whose subject is the proxy: in the everyday run, one for each version of HTTP.
    static let few =
        Scale.isFull
        ? pairs : [HTTPVersion.http1_1, .http2].compactMap { version in pairs.first { $0.version == version } }

    @Test(arguments: pairs)
    func filesThroughATunnel(_ pair: RealServerTests.Pair) async throws {
        let session = try session()
        for _ in 1...3 {
            let (small, response) = try await session.data(request("/small", pair))
            #expect(String(decoding: small, as: UTF8.self) == "hello world")
            #expect(response.version == pair.version)
            #expect(response.metrics.peerAddress == (try proxyName))
        }
        let (middle, _) = try await session.data(request("/middle", pair))
        #expect(middle == RealServerTests.middle)
        let small = try request("/small", pair)
        let count = pair.answersManyStreams ? 20 : 1
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await session.data(small).0.count } }
            for try await count in group { #expect(count == 11) }
        }
        if pair.server == "caddy" {
            let (field, _) = try await session.data(request("/proxy-authorization", pair))
            #expect(String(decoding: field, as: UTF8.self) == "[]")
        }
        await session.shutdown()
    }

    @Test func withoutTLSTheProxyReadsAndTheServerSeesNoCredentials() async throws {
        let server = try LoopbackServer.http { .text("got \($0.bodyLength)") }
        let session = try session()
        let body = RequestBody.string("abc")
        let (data, response) = try await session.data(Request(server.url("/a?b"), method: .post, body: body))
        #expect(String(decoding: data, as: UTF8.self) == "got 3")
        #expect(response.headers[.via]?.contains("tinyproxy") == true)
        #expect(server.requests.map(\.target) == ["/a?b"])
        #expect(server.requests[0]["Proxy-Authorization"] == nil && server.requests[0]["Via"] != nil)
        await session.shutdown()
    }

    /// A tunnel without the correct password is refused. For a wrong password, tinyproxy uses the status that servers use.
    @Test(arguments: few, [("wrong", 401), (nil, 407)] as [(String?, Int)])
    func noTunnel(_ pair: RealServerTests.Pair, _ refusal: (password: String?, status: Int)) async throws {
        let session = try session(password: refusal.password)
        let error = await expectFailure([.proxy]) { try await session.data(request("/small", pair)) }
        let expected = TrellisError.ProxyFailure.unauthorized(
            proxy: try proxyName, status: refusal.status, hasCredentials: refusal.password != nil)
        #expect(error?.reason == .proxyFailed(expected))
        await session.shutdown()
    }

    @Test(arguments: [("wrong", 401), (nil, 407)] as [(String?, Int)])
    func anAnswerWithoutTLS(_ password: String?, _ status: Int) async throws {
        let server = try LoopbackServer.http { _ in .text("never") }
        let session = try session(password: password)
        #expect(try await session.data(server.url()).1.status.code == status)
        #expect(server.requests.isEmpty)
        await session.shutdown()
    }

    /// A tunnel to a port on which no server listens is forbidden.
    @Test func aTunnelThatIsForbidden() async throws {
        let session = try session()
        let error = await expectFailure([.proxy]) { try await session.data("https://127.0.0.1:9/") }
        #expect(error?.reason == .proxyFailed(.refused(proxy: try proxyName, status: 403)))
        #expect(error?.isRetryable == false)
        await session.shutdown()
    }

    /// HTTP/3 is not used through a proxy, because it uses UDP, which such a proxy does not forward.
    @Test(.enabled(if: RunningLibcurl.hasHTTP3))
    func noHTTP3() async throws {
        let session = try session()
        var request = Request(try peer.url("caddy", "/small"))
        request.httpVersion = .http3Preferred
        let response = try await session.data(request).1
        #expect(response.version == .http2)
        #expect(response.metrics.peerAddress == (try proxyName))
        request.httpVersion = .http3Only
        await expectFailure([.proxy]) { try await session.data(request) }
        await session.shutdown()
    }

    private var proxyName: String { get throws { "127.0.0.1:\(try #require(peer.announcement.ports["tinyproxy"]))" } }
}
