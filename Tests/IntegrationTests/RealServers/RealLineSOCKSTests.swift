import Foundation
import Testing
import Trellis

/// SOCKS 4 and 4A at a Unix domain socket: OpenSSH and dante, with socat in front of them.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("socat"))
struct RealLineSOCKSTests {
    private let peer: Peer
    private let sockets: RealLineServer

    init() async throws {
        peer = try await Peer.realServers.value
        sockets = try await RealLineServer.started.value
    }

    /// Returns the URL of the proxy at a socket before a port.
    private func url(_ kind: Proxy.Kind, _ name: String) async throws -> String {
        let port = try #require(peer.announcement.ports[name])
        let path = try await sockets.relayedSocket(before: port)
        return "\(kind.rawValue)://localhost\(path)"
    }

    private func session(_ proxy: String) throws -> Session {
        var configuration = SessionConfiguration()
        // A second engine would have a connection of its own.
        configuration.engines = .one
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.proxy = .always(try Proxy(proxy))
        return Session(configuration: configuration)
    }

    private func files(_ pair: RealServerTests.Pair, _ proxy: String, host: String = "127.0.0.1") async throws {
        let session = try session(proxy)
        for isReused in [false, true] {
            var request = Request(try peer.url(pair.server, "/small", host: host))
            request.httpVersion = pair.policy
            let (data, response) = try await session.data(request)
            #expect(String(decoding: data, as: UTF8.self) == "hello world" && response.version == pair.version)
            #expect(response.metrics.proxyURL == proxy && response.metrics.isReusedConnection == isReused)
        }
        await session.shutdown()
    }

    @Test(.requires("sshd"), arguments: RealProxyTests.pairs, [Proxy.Kind.socks4, .socks4a])
    func openSSH(_ pair: RealServerTests.Pair, _ kind: Proxy.Kind) async throws {
        try await files(pair, url(kind, "ssh"))
    }

    /// dante refuses the names of servers with version 4.
    @Test(.requires("danted"), arguments: RealProxyTests.pairs)
    func dante(_ pair: RealServerTests.Pair) async throws {
        try await files(pair, url(.socks4, "danted"))
    }

    /// The rules of dante forbid the port: the error names the socket.
    @Test(.requires("danted")) func aPortThatIsForbidden() async throws {
        let proxy = try await url(.socks4, "danted")
        let session = try session(proxy)
        let error = await expectFailure([.proxy]) { try await session.data("http://127.0.0.1:9/") }
        #expect(error?.description.contains("makes no connection to the server") == true, "\(error as Any)")
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
    }

    /// With version 4, the name is looked up here, and with version 4A by the proxy, which does not know it either.
    @Test(.requires("sshd")) func aNameThatIsNotThere() async throws {
        for (kind, failure) in [(Proxy.Kind.socks4, TrellisError.Kind.dns), (.socks4a, .proxy)] {
            let proxy = try await url(kind, "ssh")
            let session = try session(proxy)
            let error = await expectFailure([failure]) { try await session.data("http://trellis.invalid/") }
            #expect(error?.mayHaveSentBytes == false)
            await session.shutdown()
        }
    }
}
