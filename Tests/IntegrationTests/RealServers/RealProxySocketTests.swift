import Foundation
import Testing
import Trellis

/// HTTP proxies are reached through a SOCKS proxy at a Unix domain socket: microsocks, with socat in front of it.
@Suite(.timeLimit(.minutes(1)), .requiresPeers, .requires("microsocks"), .requires("socat"))
struct RealProxySocketTests {
    private let peer: Peer
    /// The path of the socket.
    private let path: String

    init() async throws {
        peer = try await Peer.realServers.value
        path = URL(filePath: peer.announcement.ca).deletingLastPathComponent().appending(path: "socks.sock").path
    }

    private func session(_ name: String, password: String = "s3cret") throws -> Session {
        var configuration = SessionConfiguration()
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

    @Test(arguments: RealProxyTests.pairs, proxies)
    func filesThroughATunnel(_ pair: RealServerTests.Pair, _ name: String) async throws {
        let session = try session(name)
        let port = try #require(peer.announcement.ports[name])
        try await withKnownIssue("libcurl 8.23 opens no tunnel through an HTTP proxy behind a SOCKS proxy at a socket")
        {
            for (path, size) in [("/small", 11), ("/large", 8 << 20), ("/small", 11)] {
                var request = Request(try peer.url(pair.server, path))
                request.httpVersion = pair.policy
                let (data, response) = try await session.data(request)
                #expect(data.count == size && response.version == pair.version)
                #expect(response.metrics.proxyURL?.hasSuffix("://127.0.0.1:\(port)") == true)
            }
        } when: {
            TrellisRuntime.libcurlVersion.hasPrefix("8.23.")
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

    /// The socket is that of a SOCKS proxy alone: libcurl reaches no other proxy in this way.
    @Test(arguments: ["http", "https"])
    func noHTTPProxyListensAtASocket(_ scheme: String) {
        let error = #expect(throws: TrellisError.self) { try Proxy("\(scheme)://localhost\(path)") }
        #expect(error?.kind == .invalidURL, "\(error as Any)")
    }
}
