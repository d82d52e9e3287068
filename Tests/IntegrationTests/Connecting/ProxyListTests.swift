import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Several proxies are tried in order, and rules decide for each request.
@Suite(.timeLimit(.minutes(3)))
struct ProxyListTests {
    private static let origin = "http://far.invalid/a"

    /// A proxy that accepts connections and names itself.
    private static func proxy(_ name: String) throws -> LoopbackServer {
        try LoopbackServer.http { _ in .text(name) }
    }

    /// A proxy to which no connection can be made.
    private static func gone(_ kind: Proxy.Kind = .http) throws -> Proxy {
        try Proxy("\(kind.rawValue)://127.0.0.1:\(ClosedPort().port)")
    }

    private static func session(
        _ proxy: ProxyConfiguration, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = proxy
        change(&configuration)
        return Session(configuration: configuration)
    }

    private func expect(_ text: String, _ session: Session, _ url: String) async throws {
        let received = try await session.string(url)
        #expect(received == text)
    }

    @Test(arguments: [Proxy.Kind.http, .socks5h, .socks4a])
    func theNextProxyGetsTheRequestOfOneThatIsGone(_ kind: Proxy.Kind) async throws {
        let second = try Self.proxy("second")
        let gone = try Self.gone(kind)
        let session = Self.session(.always([gone, try Proxy(second.url())]))
        for _ in 1...3 {
            let request = Request(Self.origin, method: .post, body: .string("abc"))
            #expect(try await session.string(request) == "second")
        }
        #expect(second.requests.map(\.body) == Array(repeating: Data("abc".utf8), count: 3))
        await session.shutdown()
    }

    @Test func aDirectConnectionCanBeTheLastResort() async throws {
        let server = try Self.proxy("server")
        let session = Self.session(.always([try Self.gone(), .direct]))
        #expect(try await session.string(server.url("/a")) == "server")
        #expect(server.requests.map(\.target) == ["/a"])
        await session.shutdown()
    }

    @Test func theErrorOfTheLastProxyIsThatOfTheCall() async throws {
        let first = try Self.gone(), second = try Self.gone(), last = try Self.gone()
        let session = Self.session(.always([first, second, last]))
        let error = await expectFailure([.proxy]) { try await session.data(Self.origin) }
        #expect(error?.description.contains(last.url.dropFirst(7)) == true)
        #expect(error?.detail == "before that, \(first.url), \(second.url) had failed")
        await session.shutdown()
    }

    /// A failure that a proxy may have caused names the proxy.
    @Test(arguments: ["", "garbage\r\n", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"])
    func aFailureBehindAProxyNamesIt(_ answer: String) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(answer)
        }
        let proxy = try Proxy(server.url())
        let session = Self.session(.always(proxy))
        let request = session.request(Self.origin).validate()
        let error = await #expect(throws: TrellisError.self) { _ = try await request.data() }
        #expect(error?.description.hasSuffix("; through the proxy \(proxy.url)") == true, "\(error.debugDescription)")
        await session.shutdown()
    }

    @Test func aProxyOfTheWrongVersionOfIPIsNamed() async throws {
        let session = Self.session(.always(try Proxy("http://127.0.0.1:1"))) { $0.route.addressFamily = .ipv6 }
        let error = await expectFailure([.invalidRequest]) { try await session.data(Self.origin) }
        #expect(error?.reason == .invalidRequest(.route("the route allows only IPv6, and the proxy is 127.0.0.1")))
        await session.shutdown()
    }

    /// A proxy that works, and refuses, is asked alone: its refusal is a decision, not a failure of the proxy.
    @Test func aRefusalIsNotAReasonForTheNextProxy() async throws {
        let first = try LoopbackServer.http { _ in .init(403) }
        let second = try Self.proxy("second")
        let session = Self.session(.always([try Proxy(first.url()), try Proxy(second.url())]))
        await expectFailure([.proxy]) { try await session.data("https://far.invalid/") }
        #expect(second.requests.isEmpty)
        await session.shutdown()
    }

    /// The proxy that has failed is the last one for the time of the cool-down, and the first one again after that.
    @Test(arguments: [false, true])
    func aProxyThatHasFailedIsTriedLast(_ isOver: Bool) async throws {
        let (first, second) = (try Self.gone(), try Self.proxy("second"))
        var rule = ProxyConfiguration.always([first, try Proxy(second.url())])
        if isOver { rule.coolDown = .zero }
        let decisions = ProxyDecisions()
        let session = Self.session(rule) { $0.eventMonitors = [decisions] }
        for _ in 1...2 { try await expect("second", session, Self.origin) }
        await session.shutdown()
        let fresh = "proxy \(first.url): from the configuration"
        let next = "proxy http://127.0.0.1:\(second.port): from the configuration; the one before has failed"
        let cold = "proxy http://127.0.0.1:\(second.port): from the configuration; others have failed lately"
        #expect(decisions.all == (isOver ? [fresh, next, fresh, next] : [fresh, next, cold]))
    }

    /// A request that was sent on a connection that died is not sent again through another proxy.
    @Test func aRequestThatAProxyHasReceivedIsNotSentToAnother() async throws {
        let box = Locked<LoopbackServer?>(nil)
        let first = try LoopbackServer.http { request in
            guard request.method == "POST" else { return .text("first") }
            box.withLock { $0 }?.stop()
            return .init(body: .raw { _ in })
        }
        box.withLock { $0 = first }
        let second = try Self.proxy("second")
        let session = Self.session(.always([try Proxy(first.url()), try Proxy(second.url())]))
        try await expect("first", session, Self.origin)
        let post = Request(Self.origin, method: .post, body: .string("x"))
        await expectFailure([.receive]) { try await session.data(post) }
        #expect(second.requests.isEmpty && first.requests.map(\.method) == ["GET", "POST"])
        await session.shutdown()
    }

    /// A proxy that does not connect to one server in time stays the first one for other servers.
    @Test func aServerThatDoesNotAnswerIsNotAFailureOfTheProxy() async throws {
        let asked = LoopbackServer.Gate(), clock = TestClock()
        let first = try LoopbackServer.http { request in
            guard request.target == "dead.invalid:443" else { return .text("first") }
            asked.open()
            return .init(body: .raw { $0.waitUntilPeerCloses() })
        }
        let second = try LoopbackServer.http { $0.method == "CONNECT" ? .init(403) : .text("second") }
        let rule = ProxyConfiguration.always([try Proxy(first.url()), try Proxy(second.url())])
        var configuration = SessionConfiguration()
        configuration.proxy = rule
        let session = Session(configuration: configuration, clock: clock)
        for count in 1...2 {
            async let failure = expectFailure([.proxy]) { try await session.data("https://dead.invalid/") }
            // The second time, the first proxy is not asked.
            try await asked.opened()
            if count == 1 { clock.move(by: .seconds(10)) }
            _ = await failure
            #expect(second.requests.count == count)
            try await expect("first", session, Self.origin)
        }
        // At the second time, the second proxy was the first one for this server.
        #expect(first.requests.map(\.method) == ["CONNECT", "GET", "GET"])
        await session.shutdown()
    }

    /// The source of a body may have been read before the connection to a proxy failed: it must not arrive without its first part.
    @Test func aBodyThatCanBeReadOnceIsTriedOnce() async throws {
        let second = try LoopbackServer.http { .text("got \($0.bodyLength)") }
        let session = Self.session(.always([try Self.gone(), try Proxy(second.url())]))
        func request() -> Request {
            let chunks = AsyncStream<Data> { continuation in
                continuation.yield(Data("abc".utf8))
                continuation.finish()
            }
            return Request(Self.origin, method: .post, body: .stream(chunks))
        }
        await expectFailure([.proxy]) { try await session.data(request()) }
        #expect(second.requests.isEmpty)
        // Now the proxy that works is the first one.
        let text = try await session.string(request())
        #expect(text == "got 3")
        await session.shutdown()
    }

    @Test func theFunctionIsCalledForEachHop() async throws {
        let proxy = try LoopbackServer.http { request in
            request.target.hasSuffix("/first")
                ? .init(302, headers: [("Location", "http://other.invalid:81/second")])
                : .text("from \(request.target)")
        }
        let asked = Locked<[URLOrigin]>([])
        let url = proxy.url()
        let session = Self.session(
            .selecting { origin in
                asked.withLock { $0.append(origin) }
                return [try Proxy(url)]
            })
        #expect(try await session.string("http://far.invalid/first") == "from http://other.invalid:81/second")
        let origins = [
            URLOrigin(scheme: "http", host: "far.invalid", port: 80),
            URLOrigin(scheme: "http", host: "other.invalid", port: 81),
        ]
        #expect(asked.withLock { $0 } == origins)
        await session.shutdown()
    }

    @Test func theErrorOfTheFunctionIsThatOfTheCall() async throws {
        struct Unknown: Error {}
        let session = Self.session(.selecting { _ in throw Unknown() })
        await #expect(throws: Unknown.self) { try await session.data(Self.origin) }
        await session.shutdown()
    }

    @Test func aRequestHasItsOwnRule() async throws {
        let (server, one, other) = (try Self.proxy("server"), try Self.proxy("one"), try Self.proxy("other"))
        let session = Self.session(.always(try Proxy(one.url())))
        let request = Request(server.url("/a"))
        #expect(try await session.string(request) == "one")
        #expect(try await session.string(request.withProxy(.always(try Proxy(other.url())))) == "other")
        #expect(try await session.string(request.withProxy(ProxyConfiguration.direct)) == "server")
        #expect(try await session.string(request.withProxy(nil)) == "one")
        // Each route keeps its own connection.
        #expect([server, one, other].map(\.acceptedCount) == [1, 1, 1])
        await session.shutdown()
    }

    @Test func theDecisionOfTheEnvironmentIsAnEvent() async throws {
        let (server, proxy) = (try Self.proxy("server"), try Self.proxy("proxy"))
        var environment = ProxyEnvironment(["http_proxy": proxy.url(), "no_proxy": "a.invalid, 127.0.0.0/8"])
        environment.includesLoopback = true
        let decisions = ProxyDecisions()
        let session = Self.session(.environment(environment)) { $0.eventMonitors = [decisions] }
        try await expect("proxy", session, Self.origin)
        try await expect("server", session, server.url())
        await session.shutdown()
        #expect(
            decisions.all == [
                "proxy http://127.0.0.1:\(proxy.port): from http_proxy",
                "no proxy: no_proxy entry 2 (127.0.0.0/8) matches, so not http_proxy",
            ])
    }

    @Test func aVariableThatNamesNoProxyIsAnError() async throws {
        let session = Self.session(.environment(ProxyEnvironment(["http_proxy": "foo://x"])))
        let error = await expectFailure([.invalidRequest]) { try await session.data(Self.origin) }
        #expect(error?.description.contains("http_proxy does not name a proxy") == true)
        let here = try Self.proxy("here")
        #expect(try await session.string(here.url()) == "here")
        await session.shutdown()
    }

    /// The request as it was sent is a value like any other: another session sends it by its own rule.
    @Test func aSentRequestDoesNotKeepItsProxy() async throws {
        let (server, proxy) = (try Self.proxy("server"), try Self.proxy("proxy"))
        let url = proxy.url()
        let sent = Locked<Request?>(nil)
        let monitor = ClosureEventMonitor { event in
            if case .queued(let request) = event.kind { sent.withLock { $0 = request } }
        }
        let session = Self.session(.selecting { _ in [try Proxy(url)] }) { $0.eventMonitors = [monitor] }
        try await expect("proxy", session, server.url())
        await session.shutdown()
        let again = try #require(sent.withLock { $0 })
        let direct = Self.session(.direct)
        #expect(try await direct.string(again) == "server")
        await direct.shutdown()
    }

    /// The variables of this process are not read unless the configuration says so.
    @Test func theDefaultIsNoProxy() async throws {
        let server = try Self.proxy("server")
        let decisions = ProxyDecisions()
        let session = Self.session(.direct) { $0.eventMonitors = [decisions] }
        try await expect("server", session, server.url())
        await session.shutdown()
        #expect(decisions.all.isEmpty)
    }

    /// The limit per origin holds for each route, and requests that wait get their turns.
    @Test func limitsHoldForRoutes() async throws {
        let proxy = try Self.proxy("proxy")
        let session = Self.session(.always(try Proxy(proxy.url()))) { $0.limits.perOrigin = 2 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { try await expect("proxy", session, Self.origin) } }
            try await group.waitForAll()
        }
        #expect(proxy.acceptedCount <= 2 && proxy.requests.count == 50)
        await session.shutdown()
    }
}
