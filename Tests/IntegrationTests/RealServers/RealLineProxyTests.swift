import CurlEngine
import Foundation
import Testing
import Trellis

/// A function of the origin, and single requests, choose between tinyproxy and squid in front of nginx.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("tinyproxy"), .requires("squid"))
struct RealLineProxyTests {
    private static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    private let peer: Peer
    private let decisions = ProxyDecisions()

    init() async throws { peer = try await Peer.realServers.value }

    private func proxy(_ name: String, _ authentication: Proxy.Authentication = .basic) throws -> Proxy {
        let scheme = name.hasSuffix("-tls") ? "https" : "http"
        return try Proxy(
            try peer.url(name, "", scheme: scheme), username: "ada", password: "s3cret",
            authentication: authentication)
    }

    /// Returns a session for which the usual ports of any host are those of the nginx with the servers of names.
    private func session(_ rule: ProxyConfiguration) throws -> Session {
        let secure = try #require(peer.announcement.ports["nginx-names"])
        let plain = try #require(peer.announcement.ports["nginx-plain"])
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.route.connectTo = [
            try ConnectTo(":443:127.0.0.1:\(secure)"), try ConnectTo(":80:127.0.0.1:\(plain)"),
        ]
        configuration.proxy = rule
        configuration.eventMonitors = [decisions]
        return Session(configuration: configuration)
    }

    /// One host goes through tinyproxy, one through squid after a proxy that is dead, and others go directly.
    @Test(arguments: versions)
    func aFunctionOfTheOriginChooses(_ version: HTTPVersionPolicy) async throws {
        let (first, second, dead) = (try proxy("tinyproxy"), try proxy("squid"), try Proxy("http://127.0.0.1:9"))
        let origins = Locked<[String]>([])
        let session = try session(
            .selecting { origin in
                origins.withLock { $0.append("\(origin)") }
                return switch origin.host {
                case "one.example": [first]
                case "two.example": [dead, second]
                default: []
                }
            })
        let rows: [(url: String, text: String, proxy: Proxy?)] = [
            ("https://one.example/", "https one.example one.example", first),
            ("https://two.example/", "https two.example two.example", second),
            ("https://sub.one.example/", "https sub.one.example sub.one.example", nil),
            ("http://one.example/", "http one.example ", first), ("http://any.example/", "http any.example ", nil),
        ]
        for row in rows {
            var request = Request(row.url)
            request.httpVersion = version
            let (data, response) = try await session.data(request)
            #expect(String(decoding: data, as: UTF8.self) == row.text)
            #expect(response.metrics.proxyURL == row.proxy?.url)
        }
        await session.shutdown()
        #expect(
            origins.withLock { $0 } == [
                "https://one.example:443", "https://two.example:443", "https://sub.one.example:443",
                "http://one.example:80", "http://any.example:80",
            ])
        #expect(
            decisions.all == [
                "proxy \(first.url): selected for https://one.example:443",
                "proxy \(dead.url): selected for https://two.example:443",
                "proxy \(second.url): selected for https://two.example:443; the one before has failed",
                "no proxy: selected for https://sub.one.example:443",
                "proxy \(first.url): selected for http://one.example:80",
                "no proxy: selected for http://any.example:80",
            ])
    }

    /// The rule of a request replaces that of its session. Each proxy names itself in the response.
    @Test func aRequestHasItsOwnProxy() async throws {
        let (first, second, secure) = (try proxy("tinyproxy"), try proxy("squid"), try proxy("squid-tls"))
        let session = try session(.always(first))
        let request = Request("http://127.0.0.1/")
        let direct = Request(try peer.url("nginx-plain", scheme: "http"))
        let rows: [(rule: ProxyConfiguration?, proxy: Proxy?, name: String?)] = [
            (nil, first, "tinyproxy"), (.always(second), second, "squid"), (.direct, nil, nil),
            (.selecting { _ in [secure] }, secure, "squid"), (nil, first, "tinyproxy"),
        ]
        for row in rows {
            // Without another place to connect to, the proxy reads the request.
            for _ in 1...2 {
                let (data, response) = try await session.data(direct.withProxy(row.rule))
                #expect(String(decoding: data, as: UTF8.self) == "http 127.0.0.1 ")
                #expect(response.metrics.proxyURL == row.proxy?.url)
                let field = response.headers[.via]
                if let name = row.name {
                    #expect(field?.contains(name) == true, "\(field ?? "no Via")")
                } else {
                    #expect(field == nil)
                }
            }
            // With another place, the proxy makes a tunnel.
            let (data, response) = try await session.data(request.withProxy(row.rule))
            #expect(String(decoding: data, as: UTF8.self) == "http 127.0.0.1 ")
            #expect(response.metrics.proxyURL == row.proxy?.url && response.headers[.via] == nil)
        }
        await session.shutdown()
    }

    /// Requests that run at once, of which each has its own rule, do not take each other's connections.
    @Test(arguments: versions)
    func manyRequestsWithTheirOwnProxies(_ version: HTTPVersionPolicy) async throws {
        let proxies = [try proxy("tinyproxy"), try proxy("squid"), try proxy("squid", .digest)]
        let session = try session(.direct)
        let urls = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for number in 0..<12 {
                var request = Request("https://two.example/")
                request.httpVersion = version
                let own = number % 4 < 3 ? request.withProxy(.always(proxies[number % 4])) : request
                group.addTask { (number, try await session.data(own).1.metrics.proxyURL ?? "direct") }
            }
            return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        for number in 0..<12 { #expect(urls[number] == (number % 4 < 3 ? proxies[number % 4].url : "direct")) }
        #expect(urls.count == 12)
        await session.shutdown()
    }
}
