import CurlEngine
import Testing

@testable import TrellisCore

/// The way of an exchange that follows from a route, a proxy and a URL.
struct RoutePartsTests {
    private static func route(_ change: (inout Route) throws -> Void) throws -> Route {
        var route = Route()
        try change(&route)
        return route
    }

    private func parts(
        _ url: String, _ route: Route, _ proxy: Proxy = .direct, isSeparate: Bool = false
    ) throws -> TransferRoute.Parts {
        try route.parts(to: WireURL(parsing: url), through: proxy, isSeparate: isSeparate)
    }

    @Test func theDefaultIsADirectConnection() throws {
        #expect(try parts("http://a.example/", Route()).isDirect)
        #expect(try parts("http://127.0.0.1/", Route()).isDirect)
    }

    @Test func aSocketGoesBeforeEverythingElse() throws {
        let route = try Self.route {
            $0 = try .unixSocket("/run/x")
            $0.source = try .address("192.0.2.1")
            $0.addressFamily = .ipv6
            $0.addresses = try StaticAddresses("*:*:::1")
        }
        var expected = TransferRoute.Parts()
        expected.socket = TransferRoute.Socket(name: "/run/x", isAbstract: false)
        #expect(try parts("http://a.example/", route, try Proxy("http://p.example")) == expected)
    }

    @Test(
        arguments: [
            ("http://a.example/", "b.example:81"), ("http://A.Example:8080/", "b.example:81"),
            ("https://c.example/", "c.example:8443"), ("http://[::1]:99/", "d.example:99"), ("http://e.example/", nil),
            ("http://b.example/", nil),
        ] as [(String, String?)])
    func theFirstMatchReplacesHostAndPort(_ url: String, _ target: String?) throws {
        let route = try Self.route {
            $0.connectTo = try [
                "a.example::b.example:81", "a.example::x.example:1", ":443::8443", "[::1]:99:d.example:",
                "b.example:80::80",
            ].map { try ConnectTo($0) }
        }
        #expect(try parts(url, route).connectTo == target)
    }

    @Test func addressesAreThoseOfTheOtherHost() throws {
        let route = try Self.route {
            $0.connectTo = [try ConnectTo("a.example::b.example:81")]
            $0.addresses = try StaticAddresses("a.example:*:192.0.2.1", "b.example:81:192.0.2.2")
        }
        #expect(try parts("http://a.example/", route).addresses == .fixed(["192.0.2.2"]))
        #expect(try parts("http://b.example/", route).addresses == .lookedUp)
    }

    @Test(
        arguments: [
            (AddressFamily.any, nil, ["192.0.2.1", "2001:db8::1"]), (.ipv4, nil, ["192.0.2.1"]),
            (.ipv6, nil, ["2001:db8::1"]),
            (.any, "127.0.0.2", ["192.0.2.1"]), (.any, "::1", ["2001:db8::1"]), (.ipv4, "127.0.0.2", ["192.0.2.1"]),
            (.ipv6, "lo", ["2001:db8::1"]),
        ] as [(AddressFamily, String?, [String])])
    func addressesOfOtherVersionsAreLeftOut(_ family: AddressFamily, _ source: String?, _ left: [String]) throws {
        let route = try Self.route {
            $0.addressFamily = family
            $0.source = try source.map { try SourceAddress($0) }
            $0.addresses = try StaticAddresses("a.example:*:192.0.2.1,2001:db8::1")
        }
        let parts = try parts("http://a.example/", route)
        #expect(parts.addresses == .fixed(left) && parts.interface == source)
    }

    @Test func anAddressOfAnotherVersionIsAnError() throws {
        func kind(_ url: String, _ change: (inout Route) throws -> Void) -> TrellisError.Kind? {
            do {
                _ = try parts(url, try Self.route(change))
                return nil
            } catch { return (error as? TrellisError)?.kind }
        }
        #expect(kind("http://127.0.0.1/") { $0.addressFamily = .ipv6 } == .invalidRequest)
        #expect(kind("http://[::1]/") { $0.addressFamily = .ipv4 } == .invalidRequest)
        #expect(kind("http://[::1]/") { $0.addressFamily = .ipv6 } == nil)
        #expect(kind("http://[::1]/") { $0.source = try .address("127.0.0.1") } == .invalidRequest)
        let conflict = kind("http://a.example/") {
            ($0.addressFamily, $0.source) = (.ipv6, try .address("127.0.0.1"))
        }
        #expect(conflict == .invalidRequest)
        let unusable = kind("http://a.example/") {
            ($0.addressFamily, $0.addresses) = (.ipv6, try StaticAddresses("*:*:127.0.0.1"))
        }
        #expect(unusable == .dns)
    }

    /// The proxy, and the origins of the addresses of the server and of the proxy.
    static let proxies: [(String, TransferRoute.Addresses, TransferRoute.Addresses)] = [
        ("http://p.example:3128", .lookedUp, .fixed(["192.0.2.9"])),
        ("https://p.example", .lookedUp, .fixed(["192.0.2.9"])),
        ("http://P.Example:3128", .lookedUp, .fixed(["192.0.2.9"])),
        ("socks5h://p.example", .lookedUp, .fixed(["192.0.2.9"])),
        ("socks5://p.example", .fixed(["192.0.2.1"]), .fixed(["192.0.2.9"])),
        ("socks4://127.0.0.1", .fixed(["192.0.2.1"]), .lookedUp), ("socks4a://localhost/run/s", .lookedUp, .lookedUp),
    ]

    @Test(arguments: proxies)
    func theNamesThatAreLookedUpHereHaveAddresses(
        _ proxy: String, _ server: TransferRoute.Addresses, _ ofProxy: TransferRoute.Addresses
    ) throws {
        let route = try Self.route {
            $0.addresses = try StaticAddresses("a.example:80:192.0.2.1", "p.example:*:192.0.2.9")
        }
        let parts = try parts("http://a.example/", route, try Proxy(proxy))
        #expect(parts.addresses == server && parts.proxyAddresses == ofProxy)
    }

    /// An HTTP proxy behind a SOCKS proxy has addresses here if the SOCKS proxy looks up no names. The server has none: the HTTP proxy
    /// looks it up.
    @Test(arguments: [("socks4", true), ("socks5", true), ("socks4a", false), ("socks5h", false)])
    func aProxyBehindASOCKSProxyHasAddresses(_ scheme: String, _ isLookedUpHere: Bool) throws {
        let route = try Self.route {
            $0.addresses = try StaticAddresses("a.example:*:192.0.2.1", "inner.example:3128:192.0.2.2")
        }
        let front = try Proxy("\(scheme)://127.0.0.1")
        let parts = try parts("http://a.example/", route, Proxy("http://Inner.Example:3128").reached(through: front))
        let expected: TransferRoute.Addresses = isLookedUpHere ? .fixed(["192.0.2.2"]) : .lookedUp
        #expect(parts.secondProxyAddresses == expected && parts.addresses == .lookedUp)
        let other = try self.parts("http://a.example/", route, Proxy("http://127.0.0.1:3128").reached(through: front))
        #expect(other.secondProxyAddresses == .lookedUp)
    }

    @Test func aSeparateRouteHasItsOwnNameForAnAddress() throws {
        let url = "http://[::1]/"
        #expect(try parts(url, Route(), isSeparate: true).addresses == .fixed(["::1"]))
        #expect(try parts("http://a.example/", Route(), isSeparate: true).addresses == .lookedUp)
    }
}
