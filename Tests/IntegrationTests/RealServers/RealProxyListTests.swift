import Foundation
import Testing
import Trellis
import TrellisTesting

/// Real proxies are tried in order, and chosen by the variables of an environment: tinyproxy is the first one, and squid the second.
///
/// Serialized, because the tests end the first one.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers, .requires("tinyproxy"), .requires("squid"))
struct RealProxyListTests {
    private static let started = Peer.started("real_proxies.py", "tinyproxy", "squid")

    private struct Nothing: Decodable {}

    private let peer: Peer
    private let first: Proxy
    private let second: Proxy
    private let decisions = ProxyDecisions()

    init() async throws {
        let peer = try await Self.started.value
        // The test before may have ended the first proxy.
        _ = try await peer.answer(Nothing.self, to: "start tinyproxy")
        func proxy(_ name: String) throws -> Proxy {
            try Proxy(
                try peer.url(name, "", scheme: "http"), username: "zelda", password: "pr0xySecret",
                authentication: .basic)
        }
        first = try proxy("tinyproxy")
        second = try proxy("squid")
        self.peer = peer
    }

    private func stop() async throws { _ = try await peer.answer(Nothing.self, to: "stop tinyproxy") }

    private func session(_ rule: ProxyConfiguration, _ server: LoopbackServer? = nil) -> Session {
        var configuration = SessionConfiguration()
        if let authority = server?.authority { configuration.tls = authority.tlsConfiguration }
        configuration.proxy = rule
        configuration.eventMonitors = [decisions]
        return Session(configuration: configuration)
    }

    private func server(_ scheme: String) throws -> LoopbackServer {
        scheme == "https"
            ? try LoopbackServer.https { _ in .text("hello") } : try LoopbackServer.http { _ in .text("hello") }
    }

    /// Expects that a request has gone through a proxy.
    private func expect(
        _ proxy: Proxy?, _ session: Session, _ url: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (data, response) = try await session.data(url)
        #expect(String(decoding: data, as: UTF8.self) == "hello", sourceLocation: sourceLocation)
        #expect(response.metrics.proxyURL == proxy?.url, sourceLocation: sourceLocation)
    }

    /// The first proxy is killed between two requests: the second one answers, and the first one is tried once.
    @Test(arguments: ["http", "https"])
    func theSecondAnswersWhenTheFirstIsDead(_ scheme: String) async throws {
        let server = try server(scheme)
        let session = session(.always([first, second]), server)
        try await expect(first, session, server.url())
        try await stop()
        for _ in 1...2 { try await expect(second, session, server.url()) }
        await session.shutdown()
        #expect(
            decisions.all == [
                "proxy \(first.url): from the configuration", "proxy \(first.url): from the configuration",
                "proxy \(second.url): from the configuration; the one before has failed",
                "proxy \(second.url): from the configuration; others have failed lately",
            ])
    }

    /// The first proxy is back: it is used again when the cool-down is over, and not before.
    @Test(arguments: [false, true])
    func theFirstIsUsedAgainAfterTheCoolDown(_ isOver: Bool) async throws {
        let server = try server("https")
        var rule = ProxyConfiguration.always([first, second])
        if isOver { rule.coolDown = .zero }
        let session = session(rule, server)
        try await stop()
        try await expect(second, session, server.url())
        _ = try await peer.answer(Nothing.self, to: "start tinyproxy")
        try await expect(isOver ? first : second, session, server.url())
        await session.shutdown()
        #expect(decisions.all.count == 3 && decisions.all.last?.contains("lately") == !isOver, "\(decisions.all)")
    }

    /// The only proxy is killed: the error names it, and nothing was sent to the server.
    @Test(arguments: ["http", "https"])
    func theOnlyOneIsDead(_ scheme: String) async throws {
        let server = try server(scheme)
        let session = session(.always([first]), server)
        try await stop()
        let error = await expectFailure([.proxy]) { try await session.data(server.url()) }
        #expect(error?.description.contains(first.url.dropFirst("http://".count)) == true, "\(error as Any)")
        #expect(error?.isRetryable == true && error?.mayHaveSentBytes == false && server.requests.isEmpty)
        await session.shutdown()
    }

    /// The first proxy is killed in the middle of a download, which is resumed through the second one.
    @Test func aDownloadIsResumedThroughTheSecond() async throws {
        let (content, folder) = (noise(300_000), try Folder())
        let gate = LoopbackServer.Gate()
        let server = try FileServer(content) { number, _ in number == 1 ? .stalled(200_000, gate) : .whole }
        let session = session(.always([first, second]))
        let download = session.downloadRequest(server.url, to: .file(folder("a.bin")))
        async let value = download.value
        for await progress in download.progress where progress.completedBytes >= 100_000 { break }
        try await stop()
        let file = try await value
        // The kernel closes the connections of a killed process first, and its listening socket last, which may take one more connection.
        #expect(folder.data("a.bin") == content && (1...2).contains(file.interruptions))
        #expect(file.response.metrics.proxyURL == second.url && file.response.status == .partialContent)
        #expect(server.server.requests.count == 2 && server.ranges.last??.hasPrefix("bytes=") == true)
        await session.shutdown()
        #expect(decisions.all.first == "proxy \(first.url): from the configuration")
        #expect(decisions.all.last == "proxy \(second.url): from the configuration; the one before has failed")
    }

    /// Each scheme has its own variable, and the events tell which variable or entry has decided.
    @Test func theEnvironmentDecides() async throws {
        let tls = try LoopbackServer.TLS()
        let (plain, secure) = (try server("http"), try LoopbackServer.https(tls: tls) { _ in .text("hello") })
        let direct = try server("http")
        func variable(_ proxy: Proxy) -> String { proxy.url.replacing("http://", with: "http://zelda:pr0xySecret@") }
        var environment = ProxyEnvironment([
            "http_proxy": variable(first), "HTTPS_PROXY": variable(second), "HTTP_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "far.invalid, 127.0.0.1:\(direct.port)",
        ])
        environment.includesLoopback = true
        let session = session(.environment(environment), secure)
        try await expect(first, session, plain.url())
        try await expect(second, session, secure.url())
        try await expect(nil, session, direct.url())
        await session.shutdown()
        #expect(
            decisions.all == [
                "proxy \(first.url): from http_proxy", "proxy \(second.url): from HTTPS_PROXY",
                "no proxy: NO_PROXY entry 2 (127.0.0.1:\(direct.port)) matches, so not http_proxy",
            ])
        #expect(plain.requests[0]["Via"]?.contains("tinyproxy") == true && direct.requests[0]["Via"] == nil)
        #expect((plain.requests + secure.requests).allSatisfy { $0["Proxy-Authorization"] == nil })
    }
}
