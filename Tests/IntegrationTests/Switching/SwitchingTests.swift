import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// A request to switch protocols takes the way of every other request: steps, proxies, sockets, limits.
@Suite(.timeLimit(.minutes(3)))
struct SwitchingTests {
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration)
    }

    private func session(through proxy: Proxy) -> Session { session { $0.proxy = .always(proxy) } }

    private func finish(_ session: Session, _ servers: LoopbackServer...) async throws {
        await session.shutdown()
        for server in servers {
            try await server.waitUntilAllClosed()
            #expect(server.errors.isEmpty)
        }
    }

    @Test(arguments: ["http", "ws", "WS"])
    func theConnectionCarriesBytes(_ scheme: String) async throws {
        let server = try SwitchingServer.start()
        let session = session()
        let answer = try await session.switchProtocols(to: "echo", Request(server.url("/a?b=c", scheme: scheme)))
        #expect(answer.response.headers[.upgrade] == "echo" && answer.response.url == server.url("/a?b=c"))
        #expect(answer.response.metrics.peerAddress == "127.0.0.1:\(server.port)")
        #expect(answer.response.metrics.bytesReceived > 0)
        #expect(await session.liveRequestCount == 1)
        try await SwitchingServer.check(answer)
        let request = try #require(server.requests.first)
        #expect(request["Upgrade"] == "echo" && request["Connection"] == "Upgrade" && request.target == "/a?b=c")
        #expect(request["Host"] == "127.0.0.1:\(server.port)" && request["User-Agent"] != nil)
        try await server.waitUntilAllClosed()
        while await session.liveRequestCount > 0, !Task.isCancelled { await Task.yield() }
        try await finish(session, server)
    }

    /// A writer sends few bytes itself, but never before bytes that wait.
    @Test func bytesArriveInTheOrderOfTheWrites() async throws {
        let server = try SwitchingServer.start()
        let session = session()
        let answer = try await session.switchProtocols(to: "echo", Request(server.url()))
        let connection = try #require(answer.connection)
        for round in 0..<20 {
            let sizes = [1, 3_000, 40_000, 2, 10_000, 7]
            let parts = sizes.enumerated().map { Data(repeating: UInt8(round * 10 + $0.offset), count: $0.element) }
            for part in parts { try await connection.write(part) }
            let wanted = parts.reduce(Data(), +)
            var received = Data()
            while received.count < wanted.count, let bytes = try await connection.read() { received += bytes }
            #expect(received == wanted)
        }
        connection.close()
        try await finish(session, server)
    }

    @Test func aRefusalHasItsStatusAndItsBody() async throws {
        let server = try SwitchingServer.start([
            "/long": "HTTP/1.1 403 No\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000),
            "/short": "HTTP/1.1 426 Try\r\nContent-Length: 9\r\n\r\nelsewhere",
            "/cut": "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nels",
        ])
        let session = session()
        for (path, status, count) in [("/long", 403, 64 << 10), ("/short", 426, 9), ("/cut", 500, 3)] {
            let answer = try await session.switchProtocols(to: "echo", Request(server.url(path)))
            #expect(answer.connection == nil && answer.response.status.code == status && answer.body.count == count)
        }
        try await server.waitUntilAllClosed()
        try await finish(session, server)
    }

    @Test func redirectsAreFollowed() async throws {
        let target = try SwitchingServer.start()
        let server = try SwitchingServer.start([
            "/1": "HTTP/1.1 302 Found\r\nLocation: /2\r\nContent-Length: 0\r\n\r\n",
            "/2": "HTTP/1.1 307 Found\r\nLocation: \(target.url("/3", scheme: "ws"))\r\nContent-Length: 0\r\n\r\n",
        ])
        let session = session()
        let request = Request(server.url("/1", scheme: "ws"), headers: [.authorization: "secret"])
        let answer = try await session.switchProtocols(to: "echo", request)
        #expect(answer.response.redirects.map(\.to) == [server.url("/2"), target.url("/3")])
        try await SwitchingServer.check(answer)
        #expect(server.requests.map { $0["Authorization"] } == ["secret", "secret"])
        #expect(target.requests.map { $0["Authorization"] } == [nil] && target.requests.first?["Upgrade"] == "echo")
        try await finish(session, server, target)
    }

    @Test func otherRequestsAreNotRedirectedToWebSockets() async throws {
        let server = try LoopbackServer.http { _ in .init(302, headers: [("Location", "ws://127.0.0.1/")]) }
        let session = session()
        await expectFailure([.redirectRefused]) { try await session.data(server.url()) }
        try await finish(session, server)
    }

    @Test func credentialsCookiesAndAdaptersAreSent() async throws {
        let attempts = Locked(0)
        let server = try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            attempts.withLock { $0 += 1 }
            guard request["Authorization"] != nil else {
                return try connection.write(
                    "HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\nSet-Cookie: a=b\r\n"
                        + "Content-Length: 0\r\n\r\n")
            }
            try connection.write(SwitchingServer.head)
            try SwitchingServer.echo(connection)
        }
        let session = session { configuration in
            configuration.steps.network.append(DigestAuthentication(username: "ada", password: "secret"))
            configuration.steps.cookies = CookieJar()
        }
        try await SwitchingServer.check(try await session.switchProtocols(to: "echo", Request(server.url("/private"))))
        #expect(server.requests.map { $0["Cookie"] } == [nil, "a=b"])
        try await SwitchingServer.check(try await session.switchProtocols(to: "echo", Request(server.url("/private"))))
        #expect(server.requests.last?["Cookie"]?.contains("seen=1") == true)
        #expect(attempts.withLock { $0 } == 3)
        try await finish(session, server)
    }

    @Test func failedAttemptsAreRetriedBeforeTheSwitch() async throws {
        let count = Locked(0)
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            switch count.withLock({
                $0 += 1; return $0
            }) {
            case 1: return
            case 2: try connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            default:
                try connection.write(SwitchingServer.head)
                try SwitchingServer.echo(connection)
            }
        }
        let session = session { configuration in
            configuration.steps.retriers = [RetryPolicy(retryLimit: 3, exponentialBackoffScale: .milliseconds(1))]
        }
        let answer = try await session.switchProtocols(to: "echo", Request(server.url()))
        #expect(answer.response.metrics.attemptCount == 3)
        try await SwitchingServer.check(answer)
        try await finish(session, server)
    }

    // MARK: Ways

    @Test func aTunnelLeadsThroughAnHTTPProxy() async throws {
        let proxy = try SwitchingServer.start()
        let session = session(through: try Proxy(proxy.url(), username: "a", password: "b"))
        try await SwitchingServer.check(try await session.switchProtocols(to: "echo", Request("ws://far.invalid/a")))
        #expect(proxy.requests.map(\.method) == ["CONNECT", "GET"])
        #expect(proxy.requests.map(\.target) == ["far.invalid:80", "/a"])
        #expect(proxy.requests.map { $0["Upgrade"] } == [nil, "echo"])
        #expect(proxy.requests.map { $0["Proxy-Authorization"] } == ["Basic YTpi", nil])
        try await finish(session, proxy)
    }

    @Test func theRefusalOfATunnelIsAnErrorOfTheProxy() async throws {
        let proxy = try LoopbackServer.http { _ in .init(403) }
        let session = session(through: try Proxy(proxy.url()))
        await expectFailure([.proxy]) {
            try await session.switchProtocols(to: "echo", Request("ws://far.invalid/")).response
        }
        try await finish(session, proxy)
    }

    @Test(arguments: ["socks4a", "socks5h"])
    func aSOCKSProxyMakesTheConnection(_ kind: String) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(connects: connects) { connection in
            _ = try connection.readHead()
            try connection.write(SwitchingServer.head)
            try SwitchingServer.echo(connection)
        }
        let session = session(through: try Proxy("\(kind)://127.0.0.1:\(peer.port)"))
        try await SwitchingServer.check(
            try await session.switchProtocols(to: "echo", Request("ws://far.invalid:81/")))
        #expect(connects.all.map(\.host) == ["far.invalid"] && connects.all.map(\.port) == [81])
        try await finish(session, peer)
    }

    @Test func aSocketInTheFileSystemCarriesTheConnection() async throws {
        let path = try temporaryFolder("switch") + "/socket"
        let server = try SwitchingServer.start(on: .unix(path: path))
        let session = session()
        let request = Request("ws://localhost/a").withRoute(try .unixSocket(path))
        try await SwitchingServer.check(try await session.switchProtocols(to: "echo", request))
        try await finish(session, server)
    }

    @Test func nameLookupsAndOtherHostsApply() async throws {
        let server = try SwitchingServer.start()
        let session = session()
        try await SwitchingServer.check(
            try await session.switchProtocols(to: "echo", Request("ws://localhost:\(server.port)/")))
        await expectFailure([.dns]) {
            try await session.switchProtocols(to: "echo", Request("ws://nowhere.invalid/")).response
        }
        try await finish(session, server)
    }

    @Test func aRequestWithABodyIsRefused() async throws {
        let session = session()
        await expectFailure([.invalidRequest]) {
            try await session.switchProtocols(
                to: "echo", Request("ws://127.0.0.1:1/", method: .post, body: .string("a"))
            ).response
        }
        await session.shutdown()
    }
}
