import Foundation
import Testing
import Trellis

/// HTTP proxies are reached through a SOCKS proxy at a Unix domain socket: microsocks, with socat in front of it.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("microsocks"), .requires("socat"))
struct RealProxySocketTests {
    private let peer: Peer
    /// The path of the socket.
    private let path: String

    init() async throws {
        peer = try await Peer.realServers.value
        path = URL(filePath: peer.announcement.ca).deletingLastPathComponent().appending(path: "socks.sock").path
    }

    private func session(
        _ name: String, password: String = "s3cret", route: Route = Route()
    ) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.route = route
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let scheme = name.hasSuffix("-tls") ? "https" : "http"
        let proxy = try Proxy(
            try peer.url(name, "", scheme: scheme), username: "ada", password: "s3cret", authentication: .basic)
        let socks = try Proxy("socks5h://ada:\(password)@localhost\(path)")
        configuration.proxy = .always(try proxy.reached(through: socks))
        return Session(configuration: configuration)
    }

    static let proxies = ["tinyproxy", "squid", "squid-tls"].filter { name in
        Peer.isInstalled(name.hasPrefix("squid") ? "squid" : name)
    }

    @Test(arguments: RealProxyTests.few, proxies)
    func filesThroughATunnel(_ pair: RealServerTests.Pair, _ name: String) async throws {
        try await files(through: session(name), pair, name)
    }

    private func files(through session: Session, _ pair: RealServerTests.Pair, _ name: String) async throws {
        let port = try #require(peer.announcement.ports[name])
        for (file, size) in [("/small", 11), ("/middle", 2 << 20), ("/small", 11)] {
            var request = Request(try peer.url(pair.server, file))
            request.httpVersion = pair.policy
            let (data, response) = try await session.data(request)
            #expect(data.count == size && response.version == pair.version)
            #expect(response.metrics.proxyURL?.hasSuffix("://127.0.0.1:\(port)") == true)
            #expect(response.metrics.peerAddress == path)
        }
        await session.shutdown()
    }

    /// A Unix domain socket has no address of this machine, so that the source is not used.
    @Test(
        .requires("tinyproxy"), arguments: [("127.0.0.2", AddressFamily.any), ("127.0.0.2", .ipv4), ("::1", .ipv6)])
    func aRouteWithASource(_ source: String, _ family: AddressFamily) async throws {
        var route = Route()
        route.source = try .address(source)
        route.addressFamily = family
        let pair = try #require(RealProxyTests.pairs.first)
        try await files(through: session("tinyproxy", route: route), pair, "tinyproxy")
    }

    /// One session reaches the same HTTP proxy through the socket and at its address.
    @Test(.requires("tinyproxy"))
    func theProxyIsAlsoReachedWithoutTheSocket() async throws {
        let session = try session("tinyproxy")
        let url = try peer.url("caddy", "/small")
        let direct = try Proxy(
            peer.url("tinyproxy", "", scheme: "http"), username: "ada", password: "s3cret", authentication: .basic)
        for _ in 1...2 {
            let (_, behind) = try await session.data(url)
            #expect(behind.metrics.peerAddress == path)
            let (_, other) = try await session.data(Request(url).withProxy(.always(direct)))
            #expect(other.metrics.peerAddress?.hasPrefix("127.0.0.1:") == true)
        }
        await session.shutdown()
    }

    /// The HTTP proxy reads the request itself, without a tunnel.
    @Test(.requires("tinyproxy")) func aFileWithoutATunnel() async throws {
        let session = try session("tinyproxy")
        for _ in 1...2 {
            let (data, response) = try await session.data(peer.url("nginx-plain", "/small", scheme: "http"))
            #expect(String(decoding: data, as: UTF8.self) == "http 127.0.0.1 ")
            #expect(response.headers[.via]?.contains("tinyproxy") == true)
        }
        await session.shutdown()
    }

    /// microsocks refuses the password: the error names the socket, and the HTTP proxy gets nothing.
    @Test(arguments: proxies)
    func aWrongPassword(_ name: String) async throws {
        let session = try session(name, password: "wr0ngSecret")
        let error = await expectFailure([.proxy]) { try await session.data("https://127.0.0.1:9/") }
        #expect(error?.mayHaveSentBytes == false)
        let text = "\(error as Any) \(String(reflecting: error))"
        #expect(!text.contains("wr0ngSecret") && !text.contains("s3cret"), "\(text)")
        await session.shutdown()
    }

    /// Only a SOCKS proxy can listen at a socket: libcurl reaches no other proxy in this way.
    @Test(arguments: ["http", "https"])
    func noHTTPProxyListensAtASocket(_ scheme: String) {
        let error = #expect(throws: TrellisError.self) { try Proxy("\(scheme)://localhost\(path)") }
        #expect(error?.kind == .invalidURL, "\(error as Any)")
    }
}
