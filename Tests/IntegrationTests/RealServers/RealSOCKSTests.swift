import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Requests pass through dante and OpenSSH, which ask for no credentials, and microsocks, which does, to real servers.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct RealSOCKSTests {
    private let peer: Peer

    init() async throws { peer = try await Peer.realServers.value }

    private func place(_ name: String) throws -> String {
        "127.0.0.1:\(try #require(peer.announcement.ports[name]))"
    }

    private func session(_ kind: Proxy.Kind, _ name: String, _ login: String = "") throws -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .always(try Proxy("\(kind.rawValue)://\(login)\(place(name))"))
        return Session(configuration: configuration)
    }

    private func files(_ session: Session, _ pair: RealServerTests.Pair) async throws {
        for path in ["/small", "/middle", "/small"] {
            var request = Request(try peer.url(pair.server, path))
            request.httpVersion = pair.policy
            let (data, response) = try await session.data(request)
            #expect(data.count == (path == "/small" ? 11 : 2 << 20) && response.version == pair.version)
        }
        await session.shutdown()
    }

    /// dante refuses the names of servers with version 4.
    @Test(.requires("danted"), arguments: RealProxyTests.few, [Proxy.Kind.socks4, .socks5, .socks5h])
    func dante(_ pair: RealServerTests.Pair, _ kind: Proxy.Kind) async throws {
        try await files(session(kind, "danted"), pair)
    }

    /// OpenSSH takes names with every version.
    @Test(.requires("sshd"), arguments: RealProxyTests.few, [Proxy.Kind.socks4, .socks4a, .socks5, .socks5h])
    func openSSH(_ pair: RealServerTests.Pair, _ kind: Proxy.Kind) async throws {
        try await files(session(kind, "ssh"), pair)
    }

    /// The proxy looks up a name that the client cannot look up.
    @Test(.requires("sshd"))
    func theProxyLooksUpTheName() async throws {
        let url = try peer.url("nghttpd", "/small").replacing("127.0.0.1", with: "trellis.invalid")
        for (kind, proxied) in [(Proxy.Kind.socks4, false), (.socks4a, true), (.socks5h, true)] {
            let session = try session(kind, "ssh")
            let error = await expectFailure(proxied ? [.proxy] : [.dns]) { try await session.data(url) }
            #expect(error?.mayHaveSentBytes == false)
            await session.shutdown()
        }
    }

    /// microsocks is reached through a Unix domain socket.
    @Test(.requires("microsocks"), .requires("socat"), arguments: RealProxyTests.few, [Proxy.Kind.socks5, .socks5h])
    func aSocket(_ pair: RealServerTests.Pair, _ kind: Proxy.Kind) async throws {
        let folder = URL(fileURLWithPath: peer.announcement.ca).deletingLastPathComponent().path
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .always(try Proxy("\(kind.rawValue)://ada:s3cret@localhost\(folder)/socks.sock"))
        try await files(Session(configuration: configuration), pair)
    }

    @Test(.requires("microsocks"), arguments: RealProxyTests.few, [Proxy.Kind.socks5, .socks5h])
    func microsocks(_ pair: RealServerTests.Pair, _ kind: Proxy.Kind) async throws {
        try await files(session(kind, "microsocks", "ada:s3cret@"), pair)
    }

    /// The rules of dante forbid the port.
    @Test(.requires("danted"), arguments: [Proxy.Kind.socks4, .socks5, .socks5h])
    func aPortThatIsForbidden(_ kind: Proxy.Kind) async throws {
        let session = try session(kind, "danted")
        let error = await expectFailure([.proxy]) { try await session.data("https://127.0.0.1:9/") }
        #expect(error?.description.contains("makes no connection to the server") == true)
        await session.shutdown()
    }

    /// No server listens on the port.
    @Test(.requires("microsocks"))
    func aServerThatIsGone() async throws {
        let session = try session(.socks5h, "microsocks", "ada:s3cret@")
        let error = await expectFailure([.proxy]) { try await session.data("https://127.0.0.1:9/") }
        #expect(error?.isRetryable == true && error?.mayHaveSentBytes == false)
        await session.shutdown()
    }

    @Test(.requires("microsocks"), arguments: ["", "ada:wrong@", "bob:s3cret@"])
    func wrongCredentials(_ login: String) async throws {
        let session = try session(.socks5h, "microsocks", login)
        let error = await expectFailure([.proxy]) { try await session.data(peer.url("caddy", "/small")) }
        let expected = TrellisError.ProxyFailure.socksUnauthorized(
            proxy: try place("microsocks"), hasCredentials: !login.isEmpty)
        #expect(error?.reason == .proxyFailed(expected))
        await session.shutdown()
    }

    /// tinyproxy is reached through microsocks, each with its own credentials.
    @Test(.requires("microsocks"), .requires("tinyproxy"), arguments: RealProxyTests.few)
    func aChain(_ pair: RealServerTests.Pair) async throws {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let front = try Proxy("socks5h://ada:s3cret@\(place("microsocks"))")
        let proxy = try Proxy("http://ada:s3cret@\(place("tinyproxy"))")
        configuration.proxy = .always(try proxy.reached(through: front))
        try await files(Session(configuration: configuration), pair)
    }

    /// squid is reached through microsocks and over TLS, each with its own credentials.
    @Test(.requires("microsocks"), .requires("squid"), arguments: RealProxyTests.few)
    func aChainWithTLS(_ pair: RealServerTests.Pair) async throws {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let front = try Proxy("socks5h://ada:s3cret@\(place("microsocks"))")
        let proxy = try Proxy("https://ada:s3cret@\(place("squid-tls"))", authentication: .basic)
        configuration.proxy = .always(try proxy.reached(through: front))
        try await files(Session(configuration: configuration), pair)
    }

    private func session(_ front: String, _ name: String, login: String) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let scheme = name.hasSuffix("-tls") ? "https" : "http"
        let proxy = try Proxy("\(scheme)://\(login)\(place(name))", authentication: .digest)
        configuration.proxy = .always(try proxy.reached(through: Proxy("socks5h://\(front)")))
        return Session(configuration: configuration)
    }

    /// squid has Digest authentication, and the SOCKS proxy in front of it has none.
    @Test(.requires("sshd"), .requires("squid"), arguments: RealProxyTests.few, ["squid", "squid-tls"])
    func aChainWithDigest(_ pair: RealServerTests.Pair, _ name: String) async throws {
        try await files(session(place("ssh"), name, login: "ada:s3cret@"), pair)
    }

    /// Both proxies have credentials. An older libcurl does not keep them apart, so that the session makes the proofs for squid.
    @Test(
        .requires("microsocks"), .requires("squid"), arguments: RealProxyTests.few, ["squid", "squid-tls"])
    func aChainWithDigestAndCredentials(_ pair: RealServerTests.Pair, _ name: String) async throws {
        let front = "ada:s3cret@\(try place("microsocks"))"
        try await files(session(front, name, login: "ada:s3cret@"), pair)
        let wrong = try session(front, name, login: "bob:wrong@")
        let error = await expectFailure([.proxy]) { try await wrong.data(peer.url(pair.server, "/small")) }
        let expected = TrellisError.ProxyFailure.unauthorized(proxy: try place(name), status: 407, hasCredentials: true)
        #expect(error?.reason == .proxyFailed(expected))
        await wrong.shutdown()
    }

    /// The second proxy's authority is not trusted: nothing reaches the server.
    @Test(.requires("microsocks"), .requires("squid"))
    func aChainWithAProxyThatIsNotTrusted() async throws {
        var configuration = SessionConfiguration()
        let front = try Proxy("socks5h://ada:s3cret@\(place("microsocks"))")
        configuration.proxy = .always(try Proxy("https://ada:s3cret@\(place("squid-tls"))").reached(through: front))
        let session = Session(configuration: configuration)
        let error = await expectFailure([.untrusted]) { try await session.data(peer.url("caddy", "/small")) }
        #expect(error?.untrusted?.isOfProxy == true && error?.mayHaveSentBytes == false)
        await session.shutdown()
    }
}
