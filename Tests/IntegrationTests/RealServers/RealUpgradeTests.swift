import CurlEngine
import Foundation
import Testing
import Trellis

/// Hosts of nginx ask for https (RFC 6797).
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"))
struct RealHSTSTests {
    @Test func aHostAsksForHTTPSAndTakesThatBack() async throws {
        let peer = try await Peer.realServers.value, store = HSTSStore()
        let secure = try #require(peer.announcement.ports["nginx-names"])
        let plain = try #require(peer.announcement.ports["nginx-plain"])
        var configuration = SessionConfiguration()
        configuration.hsts = store
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.route.connectTo = [
            try ConnectTo(":443:127.0.0.1:\(secure)"), try ConnectTo(":80:127.0.0.1:\(plain)"),
        ]
        let session = Session(configuration: configuration)
        // Without TLS, the field is not believed.
        #expect(try await session.string("http://one.example/") == "http one.example ")
        #expect(await store.hosts.isEmpty)
        #expect(try await session.string("https://one.example/") == "https one.example one.example")
        #expect(await store.hosts.map(\.name) == ["one.example"])
        let (data, response) = try await session.data("http://one.example/x?y")
        #expect(String(decoding: data, as: UTF8.self) == "https one.example one.example")
        #expect(response.url == "https://one.example/x?y" && response.redirects.isEmpty)
        // The names below it are included, and others are not.
        #expect(try await session.string("http://sub.one.example/") == "https sub.one.example sub.one.example")
        #expect(try await session.string("http://two.example/") == "http two.example ")
        #expect(try await session.string("http://one.example/forget") == "forgotten")
        #expect(try await session.string("http://one.example/") == "http one.example ")
        await session.shutdown()
    }
}

/// Requests move from HTTP/2 to the HTTP/3 that caddy names (RFC 7838).
@Suite(
    .timeLimit(.minutes(3)), .requiresPeers, .requires("caddy"),
    .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3"))
struct RealAlternativeServiceTests {
    /// The services that were selected, and those that failed.
    private final class Services: EventMonitor {
        private let list = Locked<[String]>([])
        var all: [String] { list.withLock { $0 } }

        func handle(_ event: RequestEvent) async {
            switch event.kind {
            case .alternativeSelected: list.withLock { $0.append("selected") }
            case .alternativeFailed: list.withLock { $0.append("failed") }
            default: break
            }
        }
    }

    private let peer: Peer
    private let services = Services()
    private let session: Session

    init() async throws {
        peer = try await Peer.realServers.value
        var configuration = SessionConfiguration()
        configuration.alternativeServices = AlternativeServiceStore()
        configuration.eventMonitors = [services]
        configuration.route.addressFamily = .ipv4
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        session = Session(configuration: configuration)
    }

    /// Returns the versions of three responses.
    private func versions(_ server: String) async throws -> [HTTPVersion?] {
        let url = try peer.url(server, "/small", host: "localhost")
        var versions: [HTTPVersion?] = []
        for _ in 1...3 {
            let (data, response) = try await session.data(url)
            #expect(String(decoding: data, as: UTF8.self) == "hello world" && response.url == url)
            versions.append(response.version)
        }
        await session.shutdown()
        return versions
    }

    @Test func theNextRequestsUseHTTP3() async throws {
        #expect(try await versions("caddy") == [.http2, .http3, .http3])
        #expect(services.all == ["selected", "selected"])
    }

    /// No server listens on the UDP port: the request falls back to HTTP/2, and the next ones do not try again.
    @Test func aClosedPort() async throws {
        #expect(try await versions("caddy-tcp") == [.http2, .http2, .http2])
        #expect(services.all == ["selected", "failed"])
    }
}
