import Foundation
import Testing
import Trellis
import TrellisTesting

/// HTTP/2 is spoken on every way to a server: through proxies, also inside of their TLS, and at Unix domain sockets.
///
/// Serialized, because the tests share what the peer has seen.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2RouteTests {
    private static let started = Peer.started("http2_routes.py")

    /// A way to the server.
    enum Way: String, CaseIterable, Sendable {
        case direct, tunnel, tunnelOverTLS, socks5, socks5h, unixSocket

        var makesTunnels: Bool { self != .direct && self != .unixSocket }
    }

    /// What the peer has seen.
    private struct Seen: Decodable {
        let tunnels: [String]
        let connections: Int
        let protocols: [String?]
    }

    private let peer: Peer

    init() async throws {
        peer = try await Self.started.value
        _ = try await seen()
    }

    private func seen() async throws -> Seen { try await peer.answer(to: "seen") }

    private func session(_ way: Way, isSecure: Bool = true, _ version: HTTPVersionPolicy? = nil) throws -> Session {
        var configuration = SessionConfiguration()
        // A second engine, which is added on a busy machine, would have connections of its own.
        configuration.engines = .one
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.httpVersion = version ?? (isSecure ? .http2 : .http2PriorKnowledge)
        switch way {
        case .direct: configuration.proxy = .direct
        case .tunnel: configuration.proxy = .always(try Proxy(peer.url("proxy", "", scheme: "http")))
        case .tunnelOverTLS: configuration.proxy = .always(try Proxy(peer.url("tls-proxy", "")))
        case .socks5, .socks5h:
            configuration.proxy = .always(try Proxy(peer.url("socks", "", scheme: way.rawValue)))
        case .unixSocket:
            let folder = URL(filePath: peer.announcement.ca).deletingLastPathComponent()
            configuration.route = try .unixSocket(
                folder.appending(path: isSecure ? "tls.sock" : "cleartext.sock").path)
        }
        return Session(configuration: configuration)
    }

    private func url(_ path: String, isSecure: Bool = true) throws -> String {
        try peer.url(isSecure ? "tls" : "cleartext", path, scheme: isSecure ? "https" : "http")
    }

    private func finish(_ session: Session) async throws {
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// The server responds when all requests are there.
    @Test(arguments: [Way.direct, .tunnelOverTLS, .socks5, .socks5h, .unixSocket, .tunnel], [true, false])
    func requestsShareOneConnection(_ way: Way, isSecure: Bool) async throws {
        // An HTTP proxy gets the requests for `http` URLs itself, over HTTP/1.1.
        guard isSecure || way != .tunnel && way != .tunnelOverTLS else { return }
        let session = try session(way, isSecure: isSecure), url = try url("/together/8", isSecure: isSecure)
        let versions = try await withThrowingTaskGroup(of: HTTPVersion?.self) { group in
            for _ in 0..<8 { group.addTask { try await session.data(url).1.version } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(versions.count == 8 && versions.allSatisfy { $0 == .http2 })
        let (_, response) = try await session.data(self.url("/echo", isSecure: isSecure))
        #expect(response.metrics.isReusedConnection == true)
        let seen = try await seen()
        let target = "127.0.0.1:\(try #require(peer.announcement.ports[isSecure ? "tls" : "cleartext"]))"
        #expect(seen.connections == 1 && seen.tunnels == (way.makesTunnels ? [target] : []))
        // A proxy that would agree on HTTP/2 is not asked for it.
        #expect(seen.protocols == (way == .tunnelOverTLS ? ["http/1.1"] : []))
        try await finish(session)
    }

    @Test(arguments: Way.allCases)
    func largeBodiesPassInBothDirections(_ way: Way) async throws {
        let session = try session(way)
        let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) })
        for _ in 1...2 {
            let request = Request(try url("/echo"), method: .post, body: .data(body))
            let (data, response) = try await session.data(request)
            #expect(data == body && response.version == .http2)
        }
        #expect(try await seen().connections == 1)
        try await finish(session)
    }

    /// What waits for a reader that stops is bounded by its stream's window. The TLS of a proxy may have bytes of others.
    @Test(arguments: [Way.direct, .tunnelOverTLS])
    func aReaderThatStopsDoesNotStopOthers(_ way: Way) async throws {
        let session = try session(way)
        let stream = try await session.stream(url("/large"))
        for _ in 1...3 { #expect(try await session.data(url("/large")).0.count == 4 << 20) }
        var count = 0
        for try await chunk in stream.chunks { count += chunk.count }
        #expect(count == 4 << 20)
        #expect(try await seen().connections == 1)
        try await finish(session)
    }

    @Test(arguments: Way.allCases.filter { $0 != .unixSocket })
    func aServerWithoutHTTP2(_ way: Way) async throws {
        let url = try peer.url("http1")
        let automatic = try session(way, .automatic)
        let (data, response) = try await automatic.data(url)
        #expect(String(decoding: data, as: UTF8.self) == "over HTTP/1" && response.version == .http1_1)
        try await finish(automatic)
        let session = try session(way)
        let error = await expectFailure([.http2]) { try await session.data(url) }
        #expect(error?.reason == .exchangeFailed(.http2NotAgreed) && error?.mayHaveSentBytes == false)
        try await finish(session)
    }

    @Test(arguments: Way.allCases)
    func aConnectionThatIsCut(_ way: Way) async throws {
        let session = try session(way)
        await expectFailure([.truncatedBody, .receive, .http2]) { try await session.data(url("/cut")) }
        #expect(try await session.data(url("/echo")).1.version == .http2)
        #expect(try await seen().connections == 2)
        try await finish(session)
    }
}
