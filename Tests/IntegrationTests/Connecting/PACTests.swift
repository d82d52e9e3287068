import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Requests pass through the proxies that a PAC script names.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPAC)
struct PACTests {
    private static let origin = "http://far.invalid/a"

    private static func function(_ body: String) -> String { "function FindProxyForURL(url, host) { \(body) }" }

    /// A proxy that names itself.
    private static func proxy(_ name: String) throws -> LoopbackServer { try LoopbackServer.http { _ in .text(name) } }

    /// A proxy that accepts connections and says nothing.
    private static func silentProxy() throws -> LoopbackServer { try LoopbackServer { $0.waitUntilPeerCloses() } }

    private static func session(
        _ script: PACScript, credentials: [Proxy] = [], clock: TestClock? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .automatic(script, credentials: credentials)
        change(&configuration)
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    private func expect(_ text: String, _ session: Session, _ url: String) async throws {
        let received = try await session.string(url)
        #expect(received == text)
    }

    private struct CountingAdapter: RequestAdapter {
        let count: Locked<Int>

        func adapt(_ request: Request, context: CallContext) async throws -> Request {
            count.withLock { $0 += 1 }
            return request
        }
    }

    // MARK: Choices

    @Test func theScriptChoosesForEachHost() async throws {
        let (one, two) = (try Self.proxy("one"), try Self.proxy("two"))
        let script = Self.function(
            """
            if (shExpMatch(host, '*.one.invalid')) return 'PROXY 127.0.0.1:\(one.port)';
            return 'PROXY 127.0.0.1:\(two.port); DIRECT'
            """)
        let decisions = ProxyDecisions()
        let session = Self.session(.text(script)) { $0.eventMonitors = [decisions] }
        try await expect("one", session, "http://a.one.invalid/")
        try await expect("two", session, "http://two.invalid/")
        await session.shutdown()
        #expect(
            decisions.all == [
                "proxy http://127.0.0.1:\(one.port): from the PAC script",
                "proxy http://127.0.0.1:\(two.port): from the PAC script",
            ])
    }

    @Test func theListIsTriedInOrder() async throws {
        let gone = try ClosedPort()
        let connects = SOCKSPeer.Recorder()
        let socks = try SOCKSPeer.start(connects: connects)
        let list = "PROXY 127.0.0.1:\(gone.port); SOCKS5 127.0.0.1:\(socks.port); DIRECT"
        let decisions = ProxyDecisions()
        let session = Self.session(.text(Self.function("return '\(list)'"))) { $0.eventMonitors = [decisions] }
        for _ in 1...2 { try await expect("SOCKS 5 to far.invalid:80 as -", session, Self.origin) }
        await session.shutdown()
        #expect(decisions.all.last?.hasSuffix("from the PAC script; others have failed lately") == true)
    }

    @Test func aDirectConnection() async throws {
        let server = try Self.proxy("server")
        var script = PACScript.text(Self.function("return host == '127.0.0.1' ? 'DIRECT' : 'PROXY 127.0.0.1:1'"))
        script.includesLoopback = true
        let session = Self.session(script)
        try await expect("server", session, server.url())
        await session.shutdown()
    }

    @Test func thisMachineIsReachedDirectly() async throws {
        let server = try Self.proxy("server")
        let session = Self.session(.text("not a script"))
        try await expect("server", session, server.url())
        await session.shutdown()
    }

    @Test func aRequestCanHaveAScript() async throws {
        let proxy = try Self.proxy("proxy")
        let session = Session()
        let rule = ProxyConfiguration.automatic(.text(Self.function("return 'PROXY 127.0.0.1:\(proxy.port)'")))
        #expect(try await session.string(Request(Self.origin).withProxy(rule)) == "proxy")
        await session.shutdown()
    }

    @Test func credentialsAreForTheNamedProxyAlone() async throws {
        let (known, other) = (try Self.proxy("known"), try Self.proxy("other"))
        let script = Self.function(
            "return 'PROXY 127.0.0.1:' + (host == 'known.invalid' ? \(known.port) : \(other.port))")
        let ours = try Proxy(known.url(""), username: "ada", password: "s3cret")
        let session = Self.session(.text(script), credentials: [ours])
        try await expect("known", session, "http://known.invalid/")
        try await expect("other", session, "http://other.invalid/")
        #expect(known.requests[0]["Proxy-Authorization"] == "Basic YWRhOnMzY3JldA==")
        #expect(other.requests[0]["Proxy-Authorization"] == nil)
        await session.shutdown()
    }

    /// The proxies that the script is asked for again after a redirect are those of the redirect's target.
    @Test func aRedirectAsksAgain() async throws {
        let first = try LoopbackServer.http { _ in .init(302, headers: [("Location", "http://second.invalid/")]) }
        let second = try Self.proxy("second")
        let script = Self.function(
            "return 'PROXY 127.0.0.1:' + (host == 'second.invalid' ? \(second.port) : \(first.port))")
        let session = Self.session(.text(script))
        try await expect("second", session, "http://first.invalid/")
        await session.shutdown()
    }

    // MARK: Failures

    static let failures: [(String, String)] = [
        (function("return missing"), "its function has thrown: ReferenceError: missing is not defined"),
        (function("return 7"), "the result of its function is number, not a text"),
        (function("return 'QUIC a:1'"), "its result names no proxy that can be used"),
        ("function (", "line 1: SyntaxError: missing formal parameter"), ("", "it has no function FindProxyForURL"),
        ("a\0b", "it is not text"),
    ]

    /// The request is never sent past the proxies.
    @Test(arguments: failures)
    func anErrorOfTheScriptIsThatOfTheRequest(_ script: String, _ reason: String) async throws {
        let server = try Self.proxy("server")
        var script = PACScript.text(script)
        script.includesLoopback = true
        let session = Self.session(script)
        let error = await expectFailure([.proxy]) { try await session.data(server.url()) }
        #expect(error?.reason == .proxyFailed(.script(reason, mayBeTransient: false)))
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false)
        #expect(error?.description == "GET \(server.url()): the PAC script names no proxies: \(reason)")
        #expect(server.requests.isEmpty)
        await session.shutdown()
    }

    /// The deadline of a request ends its wait for a script; later requests are sent when the script has returned.
    ///
    /// The script may have returned before the deadline is reached. Then the request waits for a proxy that says nothing.
    @Test func aScriptThatTakesTooLong() async throws {
        let proxy = try Self.proxy("proxy"), silent = try Self.silentProxy(), clock = TestClock()
        let script = Self.function(
            """
            if (host != 'slow.invalid') return 'PROXY 127.0.0.1:\(proxy.port)';
            var end = +new Date() + 400; while (+new Date() < end) {}
            return 'SOCKS5 127.0.0.1:\(silent.port)'
            """)
        let session = Self.session(.text(script), clock: clock)
        let slow = session.request(Request("http://slow.invalid/").withTimeouts(Timeouts(total: .seconds(5))))
        async let failure = expectFailure([.totalTimeout]) { try await slow.data() }
        while await slow.state == .initialized, !Task.isCancelled { await Task.yield() }
        await session.settle()
        clock.move(by: .seconds(5))
        #expect(await failure?.mayHaveSentBytes == false)
        let cancelled = Task { try await session.data("http://slow.invalid/") }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        try await expect("proxy", session, "http://quick.invalid/")
        #expect(proxy.requests.count == 1)
        await session.shutdown()
        try await silent.waitUntilAllClosed()
    }

    /// The script may have returned before the shutdown. Then the request waits for a proxy that says nothing.
    @Test func aShutdownEndsTheWait() async throws {
        let silent = try Self.silentProxy()
        let script = Self.function(
            "var end = +new Date() + 400; while (+new Date() < end) {} return 'SOCKS5 127.0.0.1:\(silent.port)'")
        let session = Self.session(.text(script))
        let request = session.request(Self.origin)
        let task = Task { try await request.data() }
        while await request.state == .initialized, !Task.isCancelled { await Task.yield() }
        await session.shutdown()
        await expectFailure([.cancelled]) { try await task.value }
        try await silent.waitUntilAllClosed()
    }

    // MARK: Files and URLs

    @Test func aScriptInAFile() async throws {
        let proxy = try Self.proxy("proxy")
        let path = try temporaryFolder("pac") + "/proxy.pac"
        let session = Self.session(.file(path))
        let error = await expectFailure([.proxy]) { try await session.data(Self.origin) }
        #expect(error?.description.contains("there is no file \(path)") == true)
        // A byte order mark is no part of the script.
        let script = "\u{feff}" + Self.function("return 'PROXY 127.0.0.1:\(proxy.port)'")
        try Data(script.utf8).write(to: URL(filePath: path))
        try await expect("proxy", session, Self.origin)
        await session.shutdown()
    }

    /// The script is fetched once, past all proxies, and without anything that is meant for the servers of the session.
    @Test func aScriptIsFetchedOnce() async throws {
        let proxy = try Self.proxy("proxy")
        let source = Self.function("return 'PROXY 127.0.0.1:\(proxy.port)'")
        let host = try LoopbackServer.http { request in
            request.target == "/old" ? .init(301, headers: [("Location", "/proxy.pac?secret=1")]) : .text(source)
        }
        let adapted = Locked(0)
        let session = Self.session(try .url(host.url("/old"))) { configuration in
            configuration.defaultHeaders = [.authorization: "Bearer for the servers"]
            configuration.defaultQueryItems = [URLQueryItem(name: "key", value: "k")]
            configuration.baseURL = "http://base.invalid/"
            configuration.steps.cookies = CookieJar()
            configuration.steps.adapters = [CountingAdapter(count: adapted)]
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 { group.addTask { try await expect("proxy", session, "http://h\(index).invalid/") } }
            try await group.waitForAll()
        }
        #expect(host.requests.map(\.target) == ["/old", "/proxy.pac?secret=1"])
        #expect(host.requests.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil })
        #expect(proxy.requests.count == 20 && proxy.requests[0]["Authorization"] == "Bearer for the servers")
        #expect(adapted.withLock { $0 } == 20)
        await session.shutdown()
    }

    static let answers: [(String, String)] = [
        ("HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n", "answers 404"),
        ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "answers 302"),
        ("HTTP/1.1 302 Found\r\nLocation: ftp://a/\r\nContent-Length: 0\r\n\r\n", "answers 302"),
        ("HTTP/1.1 302 Found\r\nLocation: /p.pac\r\nContent-Length: 0\r\n\r\n", "leads to more than 5 redirects"),
        (
            "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: " ", count: 1_048_577), "exceeds 1048576 bytes"
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "cannot be fetched from"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\0b", "it is not text"), ("", "cannot be fetched from"),
        ("SSH-2.0\r\n", "cannot be fetched from"),
    ]

    @Test(arguments: answers)
    func aScriptThatCannotBeFetched(_ answer: String, _ words: String) async throws {
        let host = try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                try connection.write(answer)
                if !answer.contains("Length: 0") { return }
            }
        }
        let script = try PACScript.url("http://ada:s3cret@127.0.0.1:\(host.port)/p.pac?token=hidden")
        let session = Self.session(script)
        let error = await expectFailure([.proxy]) { try await session.data(Self.origin) }
        let text = "\(error.map { "\($0) \(String(reflecting: $0))" } ?? "")"
        #expect(text.contains(words), "\(text)")
        #expect(!text.contains("s3cret") && !text.contains("hidden"), "\(text)")
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
        try await host.waitUntilAllClosed()
    }

    @Test func aHostOfScriptsThatIsGone() async throws {
        let gone = try ClosedPort()
        let session = Self.session(try .url(gone.url("/p.pac")))
        let error = await expectFailure([.proxy]) { try await session.data(Self.origin) }
        #expect(error?.isRetryable == true)
        await session.shutdown()
    }

    /// If no task waits for the script any longer, its fetching ends.
    @Test func theLastTaskEndsTheFetching() async throws {
        let host = try LoopbackServer { connection in connection.waitUntilPeerCloses() }
        let session = Self.session(try .url(host.url("/p.pac")))
        let task = Task { try await session.data(Self.origin) }
        try await host.waitUntilAccepted(count: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await host.waitUntilAllClosed()
        await session.shutdown()
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test only if libpacparser is installed. In CI it is expected.
    static var requiresPAC: Self {
        let isExpected = ProcessInfo.processInfo.environment["CI"] == "true"
        return .enabled(if: ProxyScriptRunner.isAvailable || isExpected, "needs libpacparser1")
    }
}
