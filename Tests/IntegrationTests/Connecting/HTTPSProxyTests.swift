import Foundation
import Testing
import Trellis
import TrellisTesting

/// Requests pass through an HTTP proxy over TLS, whose certificate is verified like that of a server.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTPSProxyTests {
    private static let started = Peer.started("https_proxy.py")

    private let peer: Peer

    init() async throws { peer = try await Self.started.value }

    private func session(
        _ proxy: String, host: String = "127.0.0.1", isTrusting: Bool = true, clock: TestClock? = nil,
        _ monitor: (any EventMonitor)? = nil
    ) throws -> Session {
        var configuration = SessionConfiguration()
        if isTrusting {
            configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        }
        configuration.proxy = .always(
            try Proxy(try peer.url(proxy, "", host: host), username: "ada", password: "s3cret"))
        if let monitor { configuration.eventMonitors = [monitor] }
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    /// Returns the requests that the proxies have got.
    private func seen() async throws -> [[String?]] { try await peer.answer(to: "seen") }

    private static let basic = "Basic " + Data("ada:s3cret".utf8).base64EncodedString()

    @Test(arguments: ["127.0.0.1", "localhost"])
    func itForwardsAndTunnels(_ host: String) async throws {
        let session = try session("proxy", host: host)
        for _ in 1...2 {
            #expect(try await session.string("http://far.invalid/a") == "proxy http://far.invalid/a")
            // The proxy's credentials do not reach the server.
            #expect(try await session.string(peer.url("server")) == "server -")
        }
        let target = try peer.url("server", "").replacingOccurrences(of: "https://", with: "")
        let plain = ["GET", "http://far.invalid/a", Self.basic]
        let requests = try await seen()
        #expect(
            Set(requests) == [plain, ["CONNECT", target, Self.basic]] && requests.filter { $0 == plain }.count == 2)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// The verification is that of the proxy's own name, and nothing is sent to it before.
    @Test(arguments: ["wrong-host", "unknown-ca", "expired"])
    func aProxyThatIsNotTrustedGetsNothing(_ proxy: String) async throws {
        let session = try session(proxy)
        for url in ["http://far.invalid/a", try peer.url("server")] {
            let error = await expectFailure([.untrusted]) { try await session.data(url) }
            #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false, "\(error as Any)")
            #expect(error?.untrusted?.isOfProxy == true && error?.description.contains("proxy's certificate") == true)
        }
        #expect(try await seen().isEmpty)
        await session.shutdown()
    }

    @Test func anOldVersionOfTLSIsRefused() async throws {
        let session = try session("tls1.1")
        let error = await expectFailure([.tls, .proxy]) { try await session.data("http://far.invalid/a") }
        #expect(error?.mayHaveSentBytes == false)
        #expect(try await seen().isEmpty)
        await session.shutdown()
    }

    @Test func anAuthorityThatWasNotNamedIsNotTrusted() async throws {
        let session = try session("proxy", isTrusting: false)
        await expectFailure([.untrusted]) { try await session.data("http://far.invalid/a") }
        #expect(try await seen().isEmpty)
        await session.shutdown()
    }

    /// The server in the tunnel is verified with its own name, and not with that of the proxy.
    @Test func theServerInTheTunnelIsVerifiedToo() async throws {
        let session = try session("proxy")
        let error = await expectFailure([.untrusted]) { try await session.data(peer.url("wrong-server")) }
        #expect(error?.mayHaveSentBytes == false && error?.untrusted?.isOfProxy == false)
        #expect(error?.untrusted?.rule == .wrongHost("127.0.0.1", names: ["other.example"]), "\(error as Any)")
        #expect(try await seen().map { $0[0] } == ["CONNECT"])
        await session.shutdown()
    }

    /// The proxy and the server have the rules of their own hosts.
    @Test func rulesByHost() async throws {
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy(try peer.url("proxy", "", host: "localhost")))
        let trusting = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.tls.fileCheckInterval = .zero
        configuration.tlsForHosts = [try HostPattern("localhost"): trusting]
        let session = Session(configuration: configuration)
        for _ in 1...2 {
            #expect(try await session.string("http://far.invalid/a") == "proxy http://far.invalid/a")
            let error = await expectFailure([.untrusted]) { try await session.data(peer.url("server")) }
            #expect(error?.untrusted?.isOfProxy == false)
            #expect(try await session.string(peer.url("server", host: "localhost")) == "server -")
        }
        _ = try await seen()
        await session.shutdown()
    }

    /// A proxy gets a client certificate only if the rules of its host have one.
    @Test func clientCertificates() async throws {
        let file = URL(filePath: peer.announcement.ca).deletingLastPathComponent().appending(path: "client.pem")
        var tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        tls.clientIdentity = ClientIdentity(certificate: .file(file))
        for (pattern, expected) in [(nil, "-"), ("127.0.0.1", "ada@example.com")] {
            var configuration = SessionConfiguration()
            configuration.proxy = .always(try Proxy(try peer.url("wants", "")))
            configuration.tls = tls
            if let pattern { configuration.tlsForHosts = [try HostPattern(pattern): tls] }
            let session = Session(configuration: configuration)
            #expect(try await session.string("http://far.invalid/a") == expected)
            await session.shutdown()
        }
    }

    /// The error tells that the proxy requires the certificate, and not the server.
    @Test func aProxyRequiresACertificate() async throws {
        let session = try session("requires")
        for url in ["http://far.invalid/a", try peer.url("server")] {
            let error = await expectFailure([.tls]) { try await session.data(url) }
            #expect(error?.reason == .securityFailed(.clientIdentity(.requiredByProxy)), "\(error as Any)")
            #expect(error?.isRetryable == false && error?.isConnectionFailure == true)
        }
        #expect(try await seen().isEmpty)
        await session.shutdown()
    }

    // MARK: Hostile proxies

    /// A proxy that does not make the tunnel ends the request with an error, and never gets a byte of it.
    @Test(arguments: ["always-407", "200-garbage", "half-head"])
    func aProxyThatMakesNoTunnel(_ proxy: String) async throws {
        let session = try session(proxy)
        let kinds: [TrellisError.Kind] = proxy == "200-garbage" ? [.tls] : [.proxy]
        let error = await expectFailure(kinds) { try await session.data(peer.url("server")) }
        #expect(error?.mayHaveSentBytes == false, "\(error as Any)")
        // Credentials that were refused are not sent again.
        #expect(try await seen().count { $0[2] != nil } == (proxy == "always-407" ? 1 : 0))
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// Silence before the handshake with the proxy, and before that with the server in the tunnel, ends with the limit on connecting.
    @Test(arguments: ["silent", "200-silence"])
    func aSilentProxyEndsWithTheLimitOnConnecting(_ proxy: String) async throws {
        let clock = TestClock(), events = ConnectionEvents()
        let session = try session(proxy, clock: clock, events)
        let request = Request(try peer.url("server")).withTimeouts(Timeouts(connect: .seconds(10)))
        async let failure = expectFailure([.connectTimeout]) { try await session.data(request) }
        try await events.wait(for: "handshaking 127.0.0.1", count: proxy == "silent" ? 1 : 2)
        await session.settle()
        clock.move(by: .seconds(10))
        let error = await failure
        #expect(error?.mayHaveSentBytes == false, "\(error as Any)")
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// The session's resolver and fixed addresses have the address of the proxy, whose certificate is verified for its name.
    @Test(arguments: [false, true])
    func itsNameIsLookedUpByTheSession(_ isFixed: Bool) async throws {
        struct Everywhere: NameResolver {
            func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
                try ResolvedAddresses(name == "other.example" ? ["127.0.0.1"] : [], timeToLive: .seconds(60))
            }
        }
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .always(try Proxy(try peer.url("wrong-host", "", host: "other.example")))
        if isFixed {
            configuration.route.addresses = try StaticAddresses("other.example:*:127.0.0.1")
        } else {
            configuration.resolver = Everywhere()
        }
        let session = Session(configuration: configuration)
        for _ in 1...2 {
            #expect(try await session.string("http://far.invalid/a") == "proxy http://far.invalid/a")
            #expect(try await session.string(peer.url("server")) == "server -")
        }
        _ = try await seen()
        await session.shutdown()
    }

    @Test func sourcesKeepTheirConnections() async throws {
        let session = try session("proxy")
        var route = Route()
        route.source = try .address("127.0.0.2")
        let request = Request("http://far.invalid/client")
        for _ in 1...2 {
            #expect(try await session.string(request.withRoute(route)) == "127.0.0.2")
            #expect(try await session.string(request) == "127.0.0.1")
        }
        _ = try await seen()
        await session.shutdown()
    }
}
