import Foundation
import Testing
import Trellis
import TrellisTesting

/// Requests pass through squid, with Basic and with Digest authentication, to real servers.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("squid"))
struct SquidTests {
    private static let schemes = Proxy.Authentication.allCases

    private let peer: Peer

    init() async throws { peer = try await Peer.realServers.value }

    private var place: String { get throws { "127.0.0.1:\(try #require(peer.announcement.ports["squid"]))" } }

    /// squid keeps one password for a name: a wrong one has a name of its own.
    private func session(_ authentication: Proxy.Authentication, password: String? = "s3cret") throws -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .always(
            try Proxy(
                "http://\(try place)", username: password.map { $0 == "s3cret" ? "ada" : "bob" }, password: password,
                authentication: authentication))
        return Session(configuration: configuration)
    }

    private func request(_ path: String, _ pair: RealServerTests.Pair) throws -> Request {
        var request = Request(try peer.url(pair.server, path))
        request.httpVersion = pair.policy
        return request
    }

    @Test(arguments: RealProxyTests.few, schemes)
    func filesThroughATunnel(_ pair: RealServerTests.Pair, _ authentication: Proxy.Authentication) async throws {
        let session = try session(authentication)
        for _ in 1...3 {
            let (small, response) = try await session.data(request("/small", pair))
            #expect(String(decoding: small, as: UTF8.self) == "hello world" && response.version == pair.version)
            #expect(response.metrics.peerAddress == (try place))
        }
        let (middle, _) = try await session.data(request("/middle", pair))
        #expect(middle == RealServerTests.middle)
        if pair.server == "caddy" {
            let field = try await session.string(request("/proxy-authorization", pair))
            #expect(field == "[]")
        }
        await session.shutdown()
    }

    /// Without TLS, squid reads a request with Basic authentication; with Digest, it makes a tunnel.
    @Test(arguments: schemes)
    func withoutTLS(_ authentication: Proxy.Authentication) async throws {
        let server = try LoopbackServer.http { .text("got \($0.bodyLength)") }
        let session = try session(authentication)
        for _ in 1...2 {
            let request = Request(server.url("/a?b"), method: .post, body: .string("abc"))
            #expect(try await session.string(request) == "got 3")
        }
        #expect(server.requests.allSatisfy { $0.target == "/a?b" && $0["Proxy-Authorization"] == nil })
        #expect(server.requests.allSatisfy { ($0["Via"] != nil) == (authentication != .digest) })
        await session.shutdown()
    }

    /// The proxy itself speaks TLS: its certificate is verified, and a tunnel has TLS inside of TLS.
    @Test(arguments: RealProxyTests.few, schemes)
    func anHTTPSProxy(_ pair: RealServerTests.Pair, _ authentication: Proxy.Authentication) async throws {
        let server = try LoopbackServer.http { _ in .text("plain") }
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let proxy = try Proxy(
            try peer.url("squid-tls", ""), username: "ada", password: "s3cret", authentication: authentication)
        configuration.proxy = .always(proxy)
        let session = Session(configuration: configuration)
        for _ in 1...2 {
            let (small, response) = try await session.data(request("/small", pair))
            #expect(String(decoding: small, as: UTF8.self) == "hello world" && response.version == pair.version)
            #expect(try await session.string(server.url("/")) == "plain")
        }
        #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
        await session.shutdown()
        configuration.tls = TLSConfiguration()
        let distrustful = Session(configuration: configuration)
        let error = await expectFailure([.untrusted]) { try await distrustful.data(request("/small", pair)) }
        #expect(error?.untrusted?.isOfProxy == true)
        await distrustful.shutdown()
    }

    // MARK: Scripts

    /// Returns a session whose script has this result, with the credentials of squid.
    private func session(_ script: PACScript, _ decisions: ProxyDecisions) throws -> Session {
        var script = script
        script.includesLoopback = true
        let squid = try Proxy("http://ada:s3cret@\(try place)")
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .automatic(script, credentials: [squid])
        configuration.eventMonitors = [decisions]
        return Session(configuration: configuration)
    }

    private static func script(_ result: String) -> PACScript {
        .text("function FindProxyForURL(url, host) { return '\(result)' }")
    }

    /// A script names squid after a proxy that is dead. nginx serves the script too.
    @Test(.requiresPAC, arguments: RealProxyTests.few, [false, true])
    func aScriptNamesSquid(_ pair: RealServerTests.Pair, _ isServed: Bool) async throws {
        let (dead, squid) = ("http://127.0.0.1:9", "http://\(try place)")
        let decisions = ProxyDecisions()
        let script =
            isServed && Peer.isInstalled("nginx")
            ? try PACScript.url(try peer.url("nginx", "/proxy.pac"))
            : Self.script("PROXY 127.0.0.1:9; PROXY \(try place)")
        let session = try session(script, decisions)
        let address = try place
        for _ in 1...2 {
            let (small, response) = try await session.data(request("/small", pair))
            #expect(String(decoding: small, as: UTF8.self) == "hello world" && response.version == pair.version)
            #expect(response.metrics.proxyURL == squid && response.metrics.peerAddress == address)
        }
        await session.shutdown()
        let selected = decisions.all.map { $0.hasPrefix("proxy \(dead): ") ? dead : squid }
        // The dead one is tried once.
        #expect(selected == [dead, squid, squid], "\(decisions.all)")
        #expect(decisions.all.allSatisfy { $0.contains("from the PAC script") }, "\(decisions.all)")
    }

    @Test(.requiresPAC, arguments: RealProxyTests.few)
    func aScriptNamesADirectConnectionAtLast(_ pair: RealServerTests.Pair) async throws {
        let decisions = ProxyDecisions()
        let session = try session(Self.script("PROXY 127.0.0.1:9; DIRECT"), decisions)
        let (small, response) = try await session.data(request("/small", pair))
        #expect(String(decoding: small, as: UTF8.self) == "hello world" && response.version == pair.version)
        #expect(response.metrics.proxyURL == nil)
        await session.shutdown()
        #expect(decisions.all.first == "proxy http://127.0.0.1:9: from the PAC script", "\(decisions.all)")
    }

    /// A refusal is no reason to try the next proxy.
    @Test(.requiresPAC) func aScriptNamesSquidThatForbidsThePort() async throws {
        let session = try session(Self.script("PROXY \(try place); DIRECT"), ProxyDecisions())
        let error = await expectFailure([.proxy]) { try await session.data("https://127.0.0.1:9/") }
        #expect(error?.reason == .proxyFailed(.refused(proxy: try place, status: 403)))
        await session.shutdown()
    }

    @Test(arguments: schemes, ["wrong", nil] as [String?])
    func noTunnelWithoutThePassword(_ authentication: Proxy.Authentication, _ password: String?) async throws {
        let session = try session(authentication, password: password)
        let error = await expectFailure([.proxy]) { try await session.data(peer.url("caddy", "/small")) }
        let expected = TrellisError.ProxyFailure.unauthorized(
            proxy: try place, status: 407, hasCredentials: password != nil)
        #expect(error?.reason == .proxyFailed(expected))
        await session.shutdown()
    }

    @Test(arguments: schemes)
    func aTunnelThatIsForbidden(_ authentication: Proxy.Authentication) async throws {
        let session = try session(authentication)
        let error = await expectFailure([.proxy]) { try await session.data("https://127.0.0.1:9/") }
        #expect(error?.reason == .proxyFailed(.refused(proxy: try place, status: 403)))
        await session.shutdown()
    }
}
