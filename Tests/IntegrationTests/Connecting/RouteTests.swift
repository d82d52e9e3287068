import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Requests take the way that their route says: sockets, other hosts, fixed addresses, an own address.
@Suite(.timeLimit(.minutes(3)))
struct RouteTests {
    private static func session(
        _ change: (inout Route) throws -> Void = { _ in }, _ proxy: ProxyConfiguration = .direct
    ) throws -> Session {
        var configuration = SessionConfiguration()
        try change(&configuration.route)
        configuration.proxy = proxy
        return Session(configuration: configuration)
    }

    private static func route(_ change: (inout Route) throws -> Void) throws -> Route {
        var route = Route()
        try change(&route)
        return route
    }

    /// A server whose responses have its name, the `Host` of the request, and the client's address.
    private static func server(_ name: String, on address: LoopbackServer.Address = .ipv4) throws -> LoopbackServer {
        try LoopbackServer(on: address) { connection in
            while let head = try connection.readHead() {
                let text = "\(name) \(head["Host"] ?? "-") \(connection.peerAddress)"
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            }
        }
    }

    // MARK: Sockets

    @Test func aRequestGoesToItsSocket() async throws {
        let path = try temporaryFolder("route") + "/socket"
        let abstract = "trellis-test-\(UUID().uuidString)"
        let servers = [
            try Self.server("path", on: .unix(path: path)), try Self.server("abstract", on: .abstract(name: abstract)),
            try Self.server("plain"),
        ]
        let session = try Self.session()
        let request = Request("http://localhost:\(servers[2].port)/")
        let ofPath = request.withRoute(try .unixSocket(path))
        let ofName = request.withRoute(try Self.route { $0.unixSocket = try .abstract(abstract) })
        for _ in 1...2 {
            #expect(try await session.string(ofPath).hasPrefix("path localhost:"))
            #expect(try await session.string(ofName).hasPrefix("abstract localhost:"))
            #expect(try await session.string(request).hasPrefix("plain localhost:"))
        }
        #expect(servers.map(\.acceptedCount) == [1, 1, 1])
        await session.shutdown()
    }

    @Test(arguments: [false, true])
    func aSessionHasASocket(_ isAbstract: Bool) async throws {
        let name = isAbstract ? "trellis-test-\(UUID().uuidString)" : try temporaryFolder("route-session") + "/socket"
        let server = try Self.server("socket", on: isAbstract ? .abstract(name: name) : .unix(path: name))
        let plain = try Self.server("plain")
        let session = try Self.session { $0.unixSocket = try isAbstract ? .abstract(name) : .path(name) }
        #expect(try await session.string("http://far.invalid/") == "socket far.invalid ")
        // The route of a request replaces that of the session.
        #expect(try await session.string(Request(plain.url()).withRoute(Route())).hasPrefix("plain "))
        #expect(server.acceptedCount == 1)
        let response = try await session.data("http://far.invalid/").1
        #expect(response.metrics.peerAddress == (isAbstract ? nil : name))
        await session.shutdown()
    }

    @Test(arguments: [false, true])
    func aSocketThatIsNotThere(_ isAbstract: Bool) async throws {
        let name = isAbstract ? "trellis-nothing-\(UUID().uuidString)" : "/nowhere/socket"
        let session = try Self.session { $0.unixSocket = try isAbstract ? .abstract(name) : .path(name) }
        let error = await expectFailure([.connect]) { try await session.data("http://localhost/") }
        #expect(error?.isRetryable == true)
        let reason = isAbstract ? "@\(name): Connection refused" : "\(name): No such file or directory"
        #expect(error?.reason == .connectionFailed(.unreachable(reason)))
        await session.shutdown()
    }

    // MARK: Static addresses

    @Test(arguments: ["one.invalid:PORT:127.0.0.1", "*:PORT:127.0.0.1", "one.invalid:*:127.0.0.1", "*:*:127.0.0.1"])
    func namesHaveTheirAddresses(_ entry: String) async throws {
        let server = try Self.server("server")
        let text = entry.replacingOccurrences(of: "PORT", with: "\(server.port)")
        let session = try Self.session { $0.addresses = try StaticAddresses(text) }
        let (data, response) = try await session.data("http://ONE.invalid:\(server.port)/")
        #expect(String(decoding: data, as: UTF8.self).lowercased() == "server one.invalid:\(server.port) 127.0.0.1")
        #expect(response.metrics.peerAddress?.hasPrefix("127.0.0.1") == true)
        await session.shutdown()
    }

    /// The name of a host may end in a dot. It is sent as it is, and has connections of its own.
    @Test(arguments: ["one.invalid", "one.invalid."]) func aNameMayEndInADot(_ entry: String) async throws {
        let server = try Self.server("server")
        let session = try Self.session { $0.addresses = try StaticAddresses("\(entry):*:127.0.0.1") }
        for name in ["one.invalid.", "one.invalid", "one.invalid."] {
            let (data, response) = try await session.data("http://\(name):\(server.port)/")
            #expect(String(decoding: data, as: UTF8.self) == "server \(name):\(server.port) 127.0.0.1")
            #expect(response.url == "http://\(name):\(server.port)/")
        }
        #expect(server.acceptedCount == 2)
        await session.shutdown()
    }

    /// The certificate of a host, and the rules of TLS for it, are for its name without the dot at its end.
    @Test func aCertificateIsForTheNameWithoutTheDot() async throws {
        let server = try LoopbackServer.https(tls: .init(names: ["one.invalid"])) { request in
            .text(request["Host"] ?? "-")
        }
        var configuration = SessionConfiguration()
        configuration.tlsForHosts[try HostPattern("one.invalid")] = server.sessionConfiguration().tls
        configuration.route.addresses = try StaticAddresses("one.invalid:*:127.0.0.1")
        let session = Session(configuration: configuration)
        #expect(try await session.string("https://one.invalid.:\(server.port)/") == "one.invalid.:\(server.port)")
        await session.shutdown()
    }

    @Test func ipv6AddressesAreUsed() async throws {
        let server = try Self.server("six", on: .ipv6)
        let session = try Self.session { $0.addresses = try StaticAddresses("*:*:[::1]") }
        #expect(try await session.string("http://one.invalid:\(server.port)/").hasSuffix(" ::1"))
        await session.shutdown()
    }

    /// Two requests to the same host at once go to different addresses, each with a connection of its own, and so do later ones.
    @Test func routesDoNotDisturbEachOther() async throws {
        let one = try Self.server("four")
        // The same port at another address.
        let session = try Self.session { $0.addresses = try StaticAddresses("same.invalid:*:127.0.0.1") }
        let far = try Self.route { $0.addresses = try StaticAddresses("same.invalid:*:127.0.0.77") }
        let near = Request("http://same.invalid:\(one.port)/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let text = try await session.string(near)
                    #expect(text.hasPrefix("four "))
                    let error = await expectFailure([.connect]) { try await session.data(near.withRoute(far)) }
                    #expect(error?.isRetryable == true)
                }
            }
            try await group.waitForAll()
        }
        await session.shutdown()
    }

    /// Requests of the same host on three routes, at once and one after the other: none takes another's connection.
    @Test func equalRoutesShareConnections() async throws {
        let server = try LoopbackServer.http { .text("\($0.connection)") }
        let session = try Self.session()
        let addresses = ["127.0.0.1", "127.0.0.1,::1"]
        let routes = try addresses.map { list in
            try Self.route { $0.addresses = try StaticAddresses("same.invalid:*:\(list)") }
        }
        let literal = try Self.route { $0.addresses = try StaticAddresses("127.0.0.1:*:127.0.0.1") }
        let request = Request("http://same.invalid:\(server.port)/")
        var connections: Set<String> = []
        for _ in 1...3 {
            var seen: [String] = []
            for route in routes { seen.append(try await session.string(request.withRoute(route))) }
            seen.append(try await session.string(Request(server.url()).withRoute(literal)))
            seen.append(try await session.string(server.url()))
            #expect(Set(seen).count == 4)
            connections.formUnion(seen)
        }
        #expect(connections.count == 4 && server.acceptedCount == 4)
        await session.shutdown()
    }

    @Test func theNextAddressIsTried() async throws {
        let server = try Self.server("server")
        let session = try Self.session { $0.addresses = try StaticAddresses("*:*:::1,127.0.0.9,127.0.0.1") }
        #expect(try await session.string("http://one.invalid:\(server.port)/").hasPrefix("server "))
        await session.shutdown()
    }

    /// Errors have the host of the URL, and no name or address that the route has for it.
    @Test(arguments: [false, true])
    func errorsHaveTheHost(_ isElsewhere: Bool) async throws {
        let gone = try ClosedPort()
        let session = try Self.session {
            $0.addresses = try StaticAddresses("*:*:127.0.0.1")
            if isElsewhere { $0.connectTo = [try ConnectTo("::other.invalid:\(gone.port)")] }
        }
        let error = await expectFailure([.connect]) { try await session.data("http://one.invalid:\(gone.port)/") }
        let text = String(reflecting: error)
        #expect(text.contains(isElsewhere ? "other.invalid" : "one.invalid") && !text.contains("trellis.invalid"))
        await session.shutdown()
    }

    @Test func aNameWithoutAnAddressOfTheVersionIsADNSError() async throws {
        let session = try Self.session {
            ($0.addressFamily, $0.addresses) = (.ipv6, try StaticAddresses("*:*:127.0.0.1"))
        }
        let error = await expectFailure([.dns]) { try await session.data("http://one.invalid/") }
        #expect(error?.isRetryable == true && error?.description.contains("no address of IPv6") == true)
        await session.shutdown()
    }

    // MARK: Other hosts

    @Test func connectionsAreMadeToTheOtherHost() async throws {
        let server = try Self.server("server")
        let session = try Self.session {
            $0.connectTo = [
                try ConnectTo("one.invalid:80:127.0.0.1:\(server.port)"),
                try ConnectTo("two.invalid::named.invalid:\(server.port)"),
            ]
            $0.addresses = try StaticAddresses("named.invalid:\(server.port):127.0.0.1")
        }
        #expect(try await session.string("http://one.invalid/") == "server one.invalid 127.0.0.1")
        #expect(try await session.string("http://two.invalid:99/") == "server two.invalid:99 127.0.0.1")
        await expectFailure([.dns]) { try await session.data("http://one.invalid:81/") }
        await session.shutdown()
    }

    /// The connection of one host is not that of another one, although both are made to the same address.
    @Test func hostsKeepTheirOwnConnections() async throws {
        let server = try LoopbackServer.http { .text("\($0.connection) \($0["Host"] ?? "")") }
        let session = try Self.session { $0.connectTo = [try ConnectTo("::127.0.0.1:\(server.port)")] }
        var seen: [String] = []
        for _ in 1...2 {
            for host in ["a.invalid", "b.invalid"] { seen.append(try await session.string("http://\(host)/")) }
        }
        #expect(seen == ["1 a.invalid", "2 b.invalid", "1 a.invalid", "2 b.invalid"])
        await session.shutdown()
    }

    @Test func aRedirectHasTheSameRoute() async throws {
        let server = try LoopbackServer.http { request in
            request["Host"] == "a.invalid"
                ? .init(302, headers: [("Location", "http://b.invalid/x")]) : .text(request.url)
        }
        let session = try Self.session()
        let route = try Self.route { $0.connectTo = [try ConnectTo("::127.0.0.1:\(server.port)")] }
        #expect(try await session.string(Request("http://a.invalid/").withRoute(route)) == "http://b.invalid/x")
        await session.shutdown()
    }

    // MARK: The own address

    @Test func theServerSeesTheSource() async throws {
        let server = try Self.server("server")
        let session = try Self.session { $0.source = try .address("127.0.0.2") }
        let request = Request(server.url())
        #expect(try await session.string(request).hasSuffix(" 127.0.0.2"))
        let third = try Self.route { $0.source = try .address("127.0.0.3") }
        for (route, source) in [(nil, "127.0.0.2"), (third, "127.0.0.3"), (Route(), "127.0.0.1")] as [(Route?, String)]
        {
            for _ in 1...2 { #expect(try await session.string(request.withRoute(route)).hasSuffix(" \(source)")) }
        }
        #expect(server.acceptedCount == 3)
        await session.shutdown()
    }

    /// Names are looked up apart for requests with another source than that of their session, so that connections stay apart.
    @Test func namesKeepSourcesApart() async throws {
        let server = try Self.server("server")
        let session = try Self.session { $0.addressFamily = .ipv4 }
        let request = Request("http://localhost:\(server.port)/")
        let route = try Self.route { $0.source = try .address("127.0.0.2") }
        for _ in 1...2 {
            #expect(try await session.string(request.withRoute(route)).hasSuffix(" 127.0.0.2"))
            #expect(try await session.string(request).hasSuffix(" 127.0.0.1"))
        }
        await session.shutdown()
    }

    @Test func anInterfaceIsASource() async throws {
        let server = try Self.server("server")
        let session = try Self.session { $0.source = try .interface("lo") }
        #expect(try await session.string(server.url()).hasSuffix(" 127.0.0.1"))
        await session.shutdown()
    }

    @Test(arguments: ["trellis-none", "192.0.2.77"])
    func aSourceThatThisMachineDoesNotHave(_ source: String) async throws {
        let server = try Self.server("server")
        let session = try Self.session { $0.source = try SourceAddress(source) }
        let error = await expectFailure([.connect]) { try await session.data(server.url()) }
        #expect(error?.mayHaveSentBytes == false && server.acceptedCount == 0)
        #expect(error?.isRetryable == false && error?.description.contains("from \(source): ") == true)
        await session.shutdown()
    }

    @Test(arguments: [AddressFamily.ipv4, .ipv6])
    func onlyOneVersionIsUsed(_ family: AddressFamily) async throws {
        let server = try Self.server("server", on: family == .ipv4 ? .ipv4 : .ipv6)
        let session = try Self.session { $0.addressFamily = family }
        let own = family == .ipv4 ? "127.0.0.1" : "::1"
        #expect(try await session.string("http://localhost:\(server.port)/").hasSuffix(" \(own)"))
        let other = family == .ipv4 ? "[::1]" : "127.0.0.1"
        let error = await expectFailure([.invalidRequest]) { try await session.data("http://\(other):\(server.port)/") }
        #expect(error?.isRetryable == false)
        await session.shutdown()
    }

    // MARK: Proxies

    /// The version of IP is that of the connection to the proxy, also if the server's addresses are fixed.
    @Test func onlyOneVersionIsUsedForAProxy() async throws {
        let proxy = try SOCKSPeer.start(on: .ipv6)
        let rule = ProxyConfiguration.always(try Proxy("socks5://localhost:\(proxy.port)"))
        for (family, count) in [(AddressFamily.ipv4, 0), (.any, 1)] {
            let session = try Self.session(
                { ($0.addressFamily, $0.addresses) = (family, try StaticAddresses("far.invalid:*:192.0.2.7")) }, rule)
            // Another server may have the port on IPv4.
            if count == 0 {
                await expectFailure([.proxy, .connectTimeout]) { try await session.data("http://far.invalid/") }
            }
            if count == 1 { _ = try await session.data("http://far.invalid/") }
            #expect(proxy.acceptedCount == count)
            await session.shutdown()
        }
    }

    @Test(arguments: [Proxy.Kind.socks4, .socks5])
    func aSOCKSProxyGetsTheAddress(_ kind: Proxy.Kind) async throws {
        let connects = SOCKSPeer.Recorder()
        let proxy = try SOCKSPeer.start(connects: connects)
        let session = try Self.session(
            { $0.addresses = try StaticAddresses("far.invalid:81:192.0.2.7", "proxy.invalid:*:127.0.0.1") },
            .always(try Proxy("\(kind.rawValue)://proxy.invalid:\(proxy.port)")))
        _ = try await session.data("http://far.invalid:81/")
        #expect(connects.all.map { "\($0.host):\($0.port)" } == ["192.0.2.7:81"])
        await session.shutdown()
    }

    @Test(arguments: [Proxy.Kind.socks4a, .socks5h])
    func aSOCKSProxyThatLooksUpNamesGetsTheName(_ kind: Proxy.Kind) async throws {
        let connects = SOCKSPeer.Recorder()
        let proxy = try SOCKSPeer.start(connects: connects)
        let session = try Self.session(
            { $0.addresses = try StaticAddresses("*:*:127.0.0.1") },
            .always(try Proxy("\(kind.rawValue)://proxy.invalid:\(proxy.port)")))
        _ = try await session.data("http://far.invalid:81/")
        #expect(connects.all.map { "\($0.host):\($0.port)" } == ["far.invalid:81"])
        await session.shutdown()
    }

    @Test func anHTTPProxyHasItsAddress() async throws {
        let proxy = try LoopbackServer.http { .text("proxy \($0.target)") }
        let session = try Self.session(
            { $0.addresses = try StaticAddresses("*:*:127.0.0.1") },
            .always(try Proxy("http://proxy.invalid:\(proxy.port)")))
        #expect(try await session.string("http://far.invalid:81/a") == "proxy http://far.invalid:81/a")
        await session.shutdown()
    }

    @Test func anHTTPProxyMakesATunnelToTheOtherHost() async throws {
        let proxy = try LoopbackServer.http { request in
            request.method == "CONNECT" ? .init(200) : .text("\(request.target) of \(request["Host"] ?? "")")
        }
        let session = try Self.session(
            { $0.connectTo = [try ConnectTo("far.invalid:81:other.invalid:82")] }, .always(try Proxy(proxy.url())))
        #expect(try await session.string("http://far.invalid:81/a") == "/a of far.invalid:81")
        #expect(proxy.requests.map(\.target) == ["other.invalid:82", "/a"])
        await session.shutdown()
    }

    @Test func theErrorOfAProxyHasItsName() async throws {
        let gone = try ClosedPort()
        let session = try Self.session(
            { $0.addresses = try StaticAddresses("*:*:127.0.0.1") },
            .always(try Proxy("http://proxy.invalid:\(gone.port)")))
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.description.contains("proxy.invalid:\(gone.port)") == true)
        #expect(String(reflecting: error).contains("trellis.invalid") == false)
        await session.shutdown()
    }

    /// The limit on connections holds for a route of its own, and requests that wait get their turns.
    @Test func limitsHoldForRoutes() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = 2
        configuration.route.addresses = try StaticAddresses("*:*:127.0.0.1")
        let session = Session(configuration: configuration)
        let url = "http://many.invalid:\(server.port)/"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await session.data(url) } }
            try await group.waitForAll()
        }
        #expect(server.acceptedCount <= 2 && server.requests.count == 50)
        await session.shutdown()
    }
}
