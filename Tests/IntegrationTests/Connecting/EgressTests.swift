import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A session reaches only the servers that its egress policy allows.
@Suite(.timeLimit(.minutes(3)))
struct EgressTests {
    private let events = ConnectionEvents()

    private func session(
        _ policy: EgressPolicy, _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.egress = policy
        configuration.eventMonitors = [events]
        try change(&configuration)
        return Session(configuration: configuration)
    }

    private var refusals: [TrellisError.EgressRefusal] {
        events.all.compactMap { if case .egressRefused(let refusal) = $0.kind { refusal } else { nil } }
    }

    /// Expects that a request is refused, and returns the rule.
    @discardableResult
    private func expectRefusal<Success>(
        _ location: SourceLocation = #_sourceLocation, of work: () async throws -> Success
    ) async throws -> TrellisError.EgressRefusal {
        let error = await expectFailure([.egressRefused], location, of: work)
        guard case .egressRefused(let refusal)? = error?.reason else { throw Unexpected() }
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false, sourceLocation: location)
        return refusal
    }

    private struct Unexpected: Error {}

    /// Allows the address of the loopback servers alone.
    private static func loopback() throws -> EgressPolicy { try .publicInternet.allowing("127.0.0.1") }

    private static func unreached() throws -> LoopbackServer {
        try LoopbackServer { _ in Issue.record("a connection was made") }
    }

    // MARK: Addresses

    /// The spellings of addresses that lists of server-side request forgery have, and names that lead to this machine.
    @Test(arguments: [
        "127.0.0.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "017700000001", "127.1", "127.0.1",
        "0", "0.0.0.0", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
        "[::127.0.0.1]", "[64:ff9b::7f00:1]", "localhost", "LOCALHOST", "localhost.", "a.localhost",
        "①②⑦.⓪.⓪.①", "127。0。0。1", "169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "100.100.100.200",
    ])
    func noSpellingReachesAPrivateAddress(_ host: String) async throws {
        let server = try Self.unreached()
        let session = try session(.publicInternet)
        let refusal = try await expectRefusal { try await session.data("http://\(host):\(server.port)/") }
        guard case .network = refusal else { throw Unexpected() }
        await session.shutdown()
        #expect(!events.words.contains { $0.hasPrefix("connecting") })
    }

    @Test(arguments: [
        ["127.0.0.1"], ["::1"], ["fd00::1"], ["::ffff:10.0.0.1"], ["10.0.0.1", "192.168.0.1", "fe80::1"],
    ])
    func namesOfPrivateAddressesAreRefused(_ addresses: [String]) async throws {
        let session = try session(.publicInternet) {
            try $0.route.addresses.set(addresses, for: "www.example")
        }
        let refusal = try await expectRefusal { try await session.data("http://www.example/") }
        guard case .network(_, let address) = refusal else { throw Unexpected() }
        #expect(address == addresses[0].replacing("::ffff:", with: ""))
        await session.shutdown()
        #expect(refusals.count == addresses.count)
    }

    @Test func anAddressThatIsAllowedIsUsedInsteadOfOneThatIsNot() async throws {
        let server = try LoopbackServer.http { _ in .text("public") }
        let session = try session(Self.loopback()) {
            try $0.route.addresses.set(["10.0.0.1", "::1", "127.0.0.1"], for: "www.example")
        }
        #expect(try await session.string("http://www.example:\(server.port)/") == "public")
        await session.shutdown()
        #expect(events.words.filter { $0.hasPrefix("connecting") } == ["connecting 127.0.0.1:\(server.port)"])
        #expect(refusals.map(\.description).sorted().first?.hasPrefix("10.0.0.1 is in the network 10.0.0.0/8") == true)
    }

    /// The name has a public address when it is looked at first, and a private one for the connection.
    @Test func aNameThatChangesItsAddressGainsNothing() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        struct Rebinding: NameResolver {
            let count = Locked(0)
            func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                return try ResolvedAddresses([isFirst ? "127.0.0.1" : "127.0.0.2"], timeToLive: .zero)
            }
        }
        let session = try session(Self.loopback()) { $0.resolver = Rebinding() }
        let url = "http://rebound.example:\(server.port)/"
        #expect(try await session.string(url) == "ok")
        let refusal = try await expectRefusal { try await session.data(url) }
        #expect(refusal == .network(try IPNetwork("127.0.0.0/8"), address: "127.0.0.2"))
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    @Test func redirectsAreJudgedToo() async throws {
        let target = try Self.unreached()
        let server = try LoopbackServer.http { request in
            .init(status: 302, headers: [.location: String(request.target.dropFirst("/to/".count))])
        }
        let session = try session(Self.loopback())
        for host in ["[::1]", "127.0.0.2", "169.254.169.254", "2130706434"] {
            let error = await expectFailure([.egressRefused]) {
                try await session.data(server.url("/to/http://\(host):\(target.port)/"))
            }
            #expect(error?.redirects.count == 1)
        }
        await session.shutdown()
    }

    @Test func refusalsAreNotRetried() async throws {
        let session = try session(.publicInternet) { $0.retry = RetryPolicy() }
        let error = await expectFailure([.egressRefused]) { try await session.data("http://127.0.0.1:9/") }
        #expect(error?.attemptCount == 1)
        await session.shutdown()
    }

    @Test func webSocketsAndConnectionsInAdvanceAreJudgedToo() async throws {
        let server = try Self.unreached()
        let session = try session(.publicInternet)
        try await expectRefusal { try await session.webSocket("ws://127.0.0.1:\(server.port)/").receive() }
        try await expectRefusal { try await session.connect(to: server.url(), count: 2) }
        await session.shutdown()
    }

    // MARK: URLs

    @Test func schemesPortsAndHostsAreJudged() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        var policy = try Self.loopback()
        policy.schemes = ["http"]
        policy.ports = [server.port, 443]
        policy.allowedHosts = [try HostPattern("**.example"), try HostPattern("127.0.0.1")]
        policy.deniedHosts = [try HostPattern("admin.example")]
        let session = try session(policy) { try $0.route.addresses.set(["127.0.0.1"], for: "*") }
        for url in ["http://127.0.0.1:\(server.port)/", "http://www.example:\(server.port)/"] {
            #expect(try await session.string(url) == "ok")
        }
        let cases: [(String, TrellisError.EgressRefusal)] = [
            ("https://www.example/", .scheme("https")), ("wss://www.example/", .scheme("https")),
            ("http://www.example/", .port(80)), ("http://www.test:\(server.port)/", .host("www.test")),
            ("http://ADMIN.example.:\(server.port)/", .host("ADMIN.example.")),
        ]
        for (url, rule) in cases {
            let refusal = try await expectRefusal {
                if url.hasPrefix("ws") {
                    _ = try await session.webSocket(url).receive()
                } else {
                    _ = try await session.data(url)
                }
            }
            #expect(refusal == rule)
        }
        await session.shutdown()
        #expect(refusals == cases.map(\.1))
    }

    @Test func socketsNeedToBeAllowed() async throws {
        let path = try temporaryFolder("egress") + "/socket"
        let server = try LoopbackServer.http(on: .unix(path: path)) { _ in .text("ok") }
        var policy = EgressPolicy.publicInternet
        let request = Request("http://localhost/").withRoute(try .unixSocket(path))
        let strict = try session(policy)
        #expect(try await expectRefusal { try await strict.data(request) } == .unixSocket(path))
        let throughProxy = try session(policy) { $0.proxy = .always(try Proxy("socks5h://localhost\(path)")) }
        #expect(try await expectRefusal { try await throughProxy.data("http://8.8.8.8/") } == .unixSocket(path))
        policy.allowsUnixSockets = true
        let open = try session(policy)
        #expect(try await open.string(request) == "ok")
        for session in [strict, throughProxy, open] { await session.shutdown() }
        server.stop()
    }

    // MARK: Proxies

    @Test(arguments: [Proxy.Kind.http, .socks4, .socks4a, .socks5, .socks5h])
    func aProxyIsJudgedItself(_ kind: Proxy.Kind) async throws {
        let server = try Self.unreached()
        let session = try session(.publicInternet) {
            $0.proxy = .always(try Proxy("\(kind.rawValue)://127.0.0.1:\(server.port)"))
        }
        let refusal = try await expectRefusal { try await session.data("http://8.8.8.8/") }
        #expect(refusal == .network(try IPNetwork("127.0.0.0/8"), address: "127.0.0.1"))
        await session.shutdown()
    }

    @Test(arguments: [Proxy.Kind.http, .socks4, .socks4a, .socks5, .socks5h], ["http", "https"])
    func noProxyIsAskedForAPrivateAddress(_ kind: Proxy.Kind, _ scheme: String) async throws {
        let server = try Self.unreached()
        let session = try session(Self.loopback()) {
            $0.proxy = .always(try Proxy("\(kind.rawValue)://127.0.0.1:\(server.port)"))
            try $0.route.addresses.set(["10.0.0.1"], for: "inside.example")
        }
        for host in ["10.0.0.1", "127.0.0.2", "0x0a.1", "inside.example"] {
            let refusal = try await expectRefusal { try await session.data("\(scheme)://\(host)/") }
            if host == "inside.example", kind != .socks4, kind != .socks5 {
                #expect(refusal == .nameThroughProxy(host))
            } else {
                guard case .network = refusal else { throw Unexpected() }
            }
        }
        await session.shutdown()
    }

    @Test func namesGoThroughAProxyIfTheyAreAllowed() async throws {
        let proxy = try LoopbackServer.http { _ in .text("proxy") }
        var policy = try Self.loopback()
        func session(_ policy: EgressPolicy) throws -> Session {
            try self.session(policy) { $0.proxy = .always(try Proxy(proxy.url())) }
        }
        let strict = try session(policy)
        #expect(
            try await expectRefusal { try await strict.data("http://far.invalid/") } == .nameThroughProxy("far.invalid")
        )
        policy.allowedHosts = [try HostPattern("far.invalid")]
        let named = try session(policy)
        #expect(try await named.string("http://far.invalid/") == "proxy")
        policy.allowedHosts = nil
        policy.allowsNamesThroughProxies = true
        let open = try session(policy)
        #expect(try await open.string("http://far.invalid/") == "proxy")
        try await expectRefusal { try await open.data("http://10.0.0.1/") }
        let withoutNetworks = try session(EgressPolicy())
        #expect(try await withoutNetworks.string("http://far.invalid/") == "proxy")
        for session in [strict, named, open, withoutNetworks] { await session.shutdown() }
    }

    /// A proxy finds its own machine under these names, and reads a zone as it likes.
    @Test(arguments: ["localhost", "LOCALHOST.", "a.localhost", "[fe80::1%25lo]", "[::ffff:10.0.0.1]"])
    func noProxyIsAskedForItsOwnMachine(_ host: String) async throws {
        let server = try Self.unreached()
        var policy = try Self.loopback()
        policy.allowsNamesThroughProxies = true
        let session = try session(policy) { $0.proxy = .always(try Proxy(server.url())) }
        let refusal = try await expectRefusal { try await session.data("http://\(host)/") }
        guard case .network = refusal else { throw Unexpected() }
        await session.shutdown()
    }

    /// One connection to a proxy serves all servers.
    @Test func aConnectionToAProxyServesNoServerThatIsRefused() async throws {
        let proxy = try LoopbackServer.http { .text($0.target) }
        let session = try session(Self.loopback()) { $0.proxy = .always(try Proxy(proxy.url())) }
        #expect(try await session.string("http://8.8.8.8/a") == "http://8.8.8.8/a")
        try await expectRefusal { try await session.data("http://10.0.0.1/") }
        #expect(try await session.string("http://8.8.4.4/b") == "http://8.8.4.4/b")
        #expect(proxy.acceptedCount == 1)
        await session.shutdown()
    }

    @Test(arguments: [Proxy.Kind.socks4, .socks5]) func aSOCKSProxyIsAskedForAnAddressThatIsAllowed(
        _ kind: Proxy.Kind
    ) async throws {
        let connects = SOCKSPeer.Recorder()
        let proxy = try SOCKSPeer.start(connects: connects)
        let session = try session(Self.loopback()) {
            $0.proxy = .always(try Proxy("\(kind.rawValue)://127.0.0.1:\(proxy.port)"))
            try $0.route.addresses.set(["10.0.0.1", "8.8.8.8"], for: "www.example")
            try $0.route.addresses.set(["10.0.0.1", "10.0.0.2"], for: "inside.example")
        }
        _ = try await session.data("http://www.example/")
        try await expectRefusal { try await session.data("http://inside.example/") }
        #expect(connects.all.map(\.host) == ["8.8.8.8"])
        await session.shutdown()
        #expect(refusals.count == 3)
    }

    @Test func aProxyAfterAnotherOneIsJudgedToo() async throws {
        let server = try Self.unreached()
        let socks = try Proxy("socks5h://127.0.0.1:\(server.port)")
        var policy = try Self.loopback()
        for (name, rule) in [
            ("10.0.0.1", .network(try IPNetwork("10.0.0.0/8"), address: "10.0.0.1")),
            ("inner.invalid", .nameThroughProxy("inner.invalid")),
        ] as [(String, TrellisError.EgressRefusal)] {
            let proxy = try Proxy("http://\(name):3128").reached(through: socks)
            let session = try session(policy) { $0.proxy = .always(proxy) }
            #expect(try await expectRefusal { try await session.data("http://8.8.8.8/") } == rule)
            await session.shutdown()
        }
        policy.allowsNamesThroughProxies = true
        let proxy = try Proxy("http://localhost:3128").reached(through: socks)
        let session = try session(policy) { $0.proxy = .always(proxy) }
        try await expectRefusal { try await session.data("http://8.8.8.8/") }
        await session.shutdown()
    }

    // MARK: Other ways

    @Test func noRouteOfARequestLeadsAroundThePolicy() async throws {
        let server = try Self.unreached()
        let session = try session(.publicInternet)
        var fixed = Route()
        try fixed.addresses.set(["127.0.0.1"], for: "www.example")
        var moved = Route()
        moved.connectTo = [try ConnectTo("www.example::127.0.0.1:\(server.port)")]
        for route in [fixed, moved] {
            let request = Request("http://www.example:\(server.port)/").withRoute(route)
            let refusal = try await expectRefusal { try await session.data(request) }
            #expect(refusal == .network(try IPNetwork("127.0.0.0/8"), address: "127.0.0.1"))
        }
        await session.shutdown()
    }

    @Test func aDownloadIsJudgedToo() async throws {
        let target = try Self.unreached()
        let server = try LoopbackServer.http { _ in
            .init(status: 302, headers: [.location: "http://127.0.0.2:\(target.port)/"])
        }
        let session = try session(Self.loopback())
        await expectFailure([.egressRefused]) { try await session.download(server.url()) }
        await session.shutdown()
    }

    /// Each refusal gives back what the request has taken, so that one connection is left for the next request.
    @Test func refusalsTakeNoConnection() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = try session(Self.loopback()) {
            ($0.limits.total, $0.limits.perOrigin) = (1, 1)
            try $0.route.addresses.set(["10.0.0.1"], for: "inside.example")
        }
        for _ in 1...3 {
            await withTaskGroup { group in
                for _ in 1...4 {
                    group.addTask {
                        _ = await expectFailure([.egressRefused]) { try await session.data("http://inside.example/") }
                    }
                }
            }
            #expect(try await session.string(server.url()) == "ok")
        }
        await session.shutdown()
    }

    @Test(.enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3"))
    func connectionsOverQUICAreJudgedToo() async throws {
        let session = try session(.publicInternet) { $0.httpVersion = .http3Only }
        let refusal = try await expectRefusal { try await session.data("https://127.0.0.1:9/") }
        #expect(refusal == .network(try IPNetwork("127.0.0.0/8"), address: "127.0.0.1"))
        await session.shutdown()
    }
}
