import Testing

@testable import CurlEngine

/// The names under which libcurl has the addresses of a route.
struct RouteNamesTests {
    private static func route(_ change: (inout TransferRoute.Parts) -> Void) -> TransferRoute {
        var parts = TransferRoute.Parts()
        change(&parts)
        return TransferRoute(parts)
    }

    private func entries(_ route: TransferRoute, _ url: String) throws -> [String] {
        RouteNames(route).entries(for: try WireURL(parsing: url)).map { entry in
            entry.line.replacing("-\(route.number).trellis.invalid", with: "")
        }
    }

    @Test func lookedUpNamesHaveNone() throws {
        let route = Self.route { $0.connectTo = "b:81" }
        #expect(RouteNames(route).connectTo == "::b:81" && !route.hasOwnAddresses)
        #expect(try entries(route, "http://a/") == [])
        #expect(RouteNames(.direct).connectTo == nil)
    }

    @Test func theServerHasANameForEachPort() throws {
        let route = Self.route { $0.addresses = .fixed(["192.0.2.1", "::1"]) }
        #expect(RouteNames(route).connectTo == "::server-\(route.number).trellis.invalid:")
        #expect(try entries(route, "http://a/") == ["server:80:192.0.2.1,[::1]"])
        #expect(try entries(route, "https://a/") == ["server:443:192.0.2.1,[::1]"])
        #expect(route.lookedUpName(for: try WireURL(parsing: "http://a/")) == nil)
    }

    @Test func theOtherHostKeepsItsPort() throws {
        let route = Self.route { ($0.addresses, $0.connectTo) = (.fixed(["::1"]), "[::2]:81") }
        #expect(RouteNames(route).connectTo == "::server-\(route.number).trellis.invalid:81")
        #expect(try entries(route, "http://a/") == ["server:81:[::1]"])
    }

    @Test func foundAddressesChange() throws {
        let route = Self.route { $0.addresses = .found(name: "a") }
        for address in ["192.0.2.1", "192.0.2.2"] {
            route.setAddresses([address])
            #expect(try entries(route, "http://a/") == ["server:80:\(address)"])
        }
    }

    @Test func theProxyHasAName() throws {
        let proxy = EngineConfiguration.ProxyServer(host: "p", port: 3128, credentials: nil)
        let route = Self.route { ($0.proxy, $0.proxyAddresses) = (proxy, .fixed(["::1"])) }
        #expect(try entries(route, "http://a/") == ["proxy:3128:[::1]"])
        #expect(route.lookedUpName(for: try WireURL(parsing: "http://a/")) == nil)
    }

    /// The name of an `https` proxy is that of its certificate.
    @Test func anHTTPSProxyKeepsItsName() throws {
        for (host, lines) in [("p", ["+p:3128:[::1]"]), ("[::2]", [])] {
            let proxy = EngineConfiguration.ProxyServer(scheme: .https, host: host, port: 3128, credentials: nil)
            let route = Self.route { ($0.proxy, $0.proxyAddresses) = (proxy, .fixed(["::1"])) }
            #expect(try RouteNames(route).proxy == nil && entries(route, "http://a/") == lines)
        }
    }

    /// A SOCKS proxy that looks up no names wants the address of the HTTP proxy behind it.
    @Test(
        arguments: [
            (.socks5, .http, ["second:3128:[::1]"]), (.socks4, .https, ["+inner:3128:[::1]"]), (.socks5h, .http, []),
        ] as [(EngineConfiguration.ProxyServer.Scheme, EngineConfiguration.ProxyServer.Scheme, [String])])
    func theProxyBehindASOCKSProxyHasAName(
        _ front: EngineConfiguration.ProxyServer.Scheme, _ back: EngineConfiguration.ProxyServer.Scheme,
        _ lines: [String]
    ) throws {
        let socks = EngineConfiguration.ProxyServer(scheme: front, host: "127.0.0.1", port: 1080, credentials: nil)
        let proxy = EngineConfiguration.ProxyServer(scheme: back, host: "inner", port: 3128, credentials: nil)
            .reached(through: socks)
        let route = Self.route { ($0.proxy, $0.secondProxyAddresses) = (proxy, .fixed(["::1"])) }
        #expect(try entries(route, "http://a/") == lines)
        #expect(route.hasOwnAddresses && route.needsOwnConnection == (back == .https))
        let names = RouteNames(route)
        #expect(names.proxy == nil && (names.secondProxy != nil) == (front == .socks5))
        let message = names.restoringHosts(
            in: "to \(names.secondProxy ?? "inner"):3128", for: try WireURL(parsing: "http://a/"))
        #expect(message == "to inner:3128")
    }

    @Test func theAddressesOfTheSecondProxyChange() throws {
        let socks = EngineConfiguration.ProxyServer(scheme: .socks5, host: "127.0.0.1", port: 1080, credentials: nil)
        let proxy = EngineConfiguration.ProxyServer(host: "inner", port: 3128, credentials: nil)
            .reached(through: socks)
        let route = Self.route { ($0.proxy, $0.secondProxyAddresses) = (proxy, .found(name: "inner")) }
        for address in ["192.0.2.1", "192.0.2.2"] {
            route.setAddresses([address], of: .secondProxy)
            #expect(try entries(route, "http://a/") == ["second:3128:\(address)"])
        }
    }

    @Test func aSocketNeedsNone() throws {
        let route = Self.route {
            ($0.addresses, $0.socket) = (.fixed(["::1"]), TransferRoute.Socket(name: "x", isAbstract: true))
        }
        #expect(try entries(route, "http://a/") == [])
    }

    @Test func messagesHaveTheHosts() throws {
        let proxy = EngineConfiguration.ProxyServer(host: "p", port: 3128, credentials: nil)
        let route = Self.route {
            ($0.addresses, $0.proxy, $0.proxyAddresses) = (.fixed(["::1"]), proxy, .fixed(["::1"]))
        }
        let names = RouteNames(route)
        let message = "\(names.server ?? "") and \(names.proxy ?? ""), \(names.server ?? "")1"
        #expect(names.restoringHosts(in: message, for: try WireURL(parsing: "http://a/")) == "a and p, a1")
        #expect(names.restoringHosts(in: "none", for: try WireURL(parsing: "http://a/")) == "none")
    }

    /// A version of libcurl that opens no tunnel behind a socket gets an address in place of the socket.
    @Test(arguments: [(TransferRoute.Family.any, "127.0.0.1"), (.ipv4, "127.0.0.1"), (.ipv6, "[::1]")])
    func aSocketInFrontOfAProxyHasAName(_ family: TransferRoute.Family, _ address: String) throws {
        let socks = EngineConfiguration.ProxyServer(
            scheme: .socks5h, host: "localhost", port: 1080, socketPath: "/run/socks", credentials: nil)
        let proxy = EngineConfiguration.ProxyServer(host: "p", port: 3128, credentials: nil).reached(through: socks)
        let route = Self.route { ($0.proxy, $0.interface, $0.family) = (proxy, "lo", family) }
        let isReplaced = !LibcurlFeatures.current.tunnelsBehindSockets
        #expect(route.socketPath == (isReplaced ? "/run/socks" : nil))
        #expect(route.parts.interface == (isReplaced ? nil : "lo") && route.hasOwnAddresses == isReplaced)
        #expect(try entries(route, "https://a/") == (isReplaced ? ["proxy:1080:\(address)"] : []))
        #expect(route.lookedUpName(for: try WireURL(parsing: "https://a/")) == nil)
        let names = RouteNames(route)
        let message = names.restoringHosts(
            in: "over \(names.proxy ?? "/run/socks")", for: try WireURL(parsing: "https://a/"))
        #expect(message == "over /run/socks")
        // Without the HTTP proxy there is no tunnel.
        #expect(Self.route { ($0.proxy, $0.interface) = (socks, "lo") }.socketPath == nil)
    }

    // MARK: libcurl's cache

    private func entry(_ key: String, _ addresses: String...) -> RouteNames.Entry {
        RouteNames.Entry(key: key, addresses: addresses)
    }

    private func lines(_ loaded: inout LoadedAddresses, _ entries: RouteNames.Entry...) -> String? {
        loaded.lines(for: entries).map { String(decoding: $0.bytes.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self) }
    }

    @Test func onlyChangesAreLoaded() {
        var loaded = LoadedAddresses()
        #expect(lines(&loaded) == nil)
        #expect(lines(&loaded, entry("a:80", "1.1.1.1"), entry("b:80", "::1")) == "a:80:1.1.1.1 b:80:[::1] ")
        #expect(lines(&loaded, entry("a:80", "1.1.1.1")) == nil)
        #expect(lines(&loaded, entry("a:80", "1.1.1.2"), entry("b:80", "::1")) == "a:80:1.1.1.2 ")
        #expect(lines(&loaded, entry("a:80", "1.1.1.1")) == "a:80:1.1.1.1 ")
    }

    @Test func theOldestAreRemoved() {
        var loaded = LoadedAddresses()
        for number in 0..<LoadedAddresses.limit { _ = lines(&loaded, entry("\(number):1", "::1")) }
        #expect(lines(&loaded, entry("0:1", "::2")) == "0:1:[::2] ")
        #expect(lines(&loaded, entry("new:1", "::1")) == "new:1:[::1] -0:1 ")
        #expect(lines(&loaded, entry("0:1", "::2")) == "0:1:[::2] -1:1 ")
        #expect(lines(&loaded, entry("2:1", "::1"), entry("other:1", "::1")) == "other:1:[::1] -3:1 ")
    }

    /// Other routes look up the same name, so that its addresses expire.
    @Test func sharedNamesAreLoadedEachTime() {
        var loaded = LoadedAddresses()
        let shared = RouteNames.Entry(key: "p:443", addresses: ["::1"], isShared: true)
        for _ in 1...2 { #expect(lines(&loaded, shared) == "+p:443:[::1] ") }
    }
}
