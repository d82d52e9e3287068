import Foundation
import Testing
import Trellis

/// Requests find their way to nginx, which has two servers at one port, each with a chain of its own, and Unix domain sockets.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"))
struct RealRouteTests {
    private static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    private let peer: Peer

    init() async throws { peer = try await Peer.realServers.value }

    private var port: Int { get throws { try #require(peer.announcement.ports["nginx-names"]) } }

    private func session(_ change: (inout Route) throws -> Void) rethrows -> Session {
        var configuration = SessionConfiguration()
        // A second engine would have connections of its own.
        configuration.engines = .one
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        try change(&configuration.route)
        return Session(configuration: configuration)
    }

    private func request(_ url: String, _ version: HTTPVersionPolicy) -> Request {
        var request = Request(url)
        request.httpVersion = version
        return request
    }

    /// Both names have one address. The server tells them apart by the handshake, and each certificate is for its name alone.
    @Test(arguments: versions)
    func twoNamesWithOneAddress(_ version: HTTPVersionPolicy) async throws {
        let port = try self.port
        let session = try session { $0.addresses = try StaticAddresses("*:\(port):127.0.0.1") }
        for name in ["one.example", "two.example", "sub.one.example", "one.example"] {
            let (data, response) = try await session.data(request("https://\(name):\(port)/", version))
            #expect(String(decoding: data, as: UTF8.self) == "https \(name) \(name)")
            #expect(response.metrics.peerAddress == "127.0.0.1:\(port)")
        }
        let stranger = request("https://three.example:\(port)/", version)
        let error = await expectFailure([.untrusted]) { try await session.data(stranger) }
        let names = ["one.example", "*.one.example"]
        #expect(error?.untrusted?.rule == .wrongHost("three.example", names: names), "\(error as Any)")
        await session.shutdown()
    }

    /// The requests of two names go to other ports, and keep the names of their URLs.
    @Test(arguments: versions)
    func otherPlaces(_ version: HTTPVersionPolicy) async throws {
        let port = try self.port
        let session = try session {
            $0.connectTo = [
                try ConnectTo("one.example:443:127.0.0.1:\(port)"), try ConnectTo("two.example::127.0.0.1:\(port)"),
            ]
        }
        for (url, name) in [
            ("https://one.example/", "one.example"), ("https://two.example:8443/", "two.example"),
            ("https://two.example/", "two.example"),
        ] {
            let (data, response) = try await session.data(request(url, version))
            #expect(String(decoding: data, as: UTF8.self) == "https \(name) \(name)")
            #expect(response.url == url && response.metrics.peerAddress == "127.0.0.1:\(port)")
        }
        await session.shutdown()
    }

    /// A Unix domain socket without TLS, and one with TLS, whose certificate is for the host of the URL.
    @Test(arguments: versions)
    func sockets(_ version: HTTPVersionPolicy) async throws {
        let folder = URL(filePath: peer.announcement.ca).deletingLastPathComponent()
        for (name, url, text) in [
            ("nginx.sock", "http://any.example/", "http any.example "),
            ("nginx-tls.sock", "https://two.example/", "https two.example two.example"),
        ] {
            let path = folder.appending(path: name).path
            let session = try session { $0.unixSocket = try .path(path) }
            for isReused in [false, true] {
                let (data, response) = try await session.data(request(url, version))
                #expect(String(decoding: data, as: UTF8.self) == text)
                #expect(response.metrics.peerAddress == path && response.metrics.isReusedConnection == isReused)
            }
            await session.shutdown()
        }
        let session = try session { $0.unixSocket = try .path(folder.appending(path: "nginx-tls.sock").path) }
        let error = await expectFailure([.untrusted]) { try await session.data("https://one.example/") }
        #expect(error?.untrusted?.rule == .wrongHost("one.example", names: ["two.example"]), "\(error as Any)")
        await session.shutdown()
    }
}
