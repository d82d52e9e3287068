import CurlEngine
import Testing
import TrellisTesting

@testable import Trellis

/// The routes of requests whose proxies are chosen while they are sent.
@Suite(.timeLimit(.minutes(1)))
struct RouteTableTests {
    /// A resolver that knows one address.
    private struct Fixed: NameResolver {
        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            try ResolvedAddresses(["192.0.2.1"], timeToLive: .seconds(60))
        }
    }

    private static func route(_ rule: ProxyConfiguration, _ request: Request) throws -> RouteTable.Chosen {
        let url = try WireURL(parsing: request.url)
        return try RouteTable(proxies: rule, route: Route()).route(to: url, of: request)
    }

    private static let rules: [ProxyConfiguration] = [.selecting { _ in [] }, .automatic(.text(""))]

    /// A request must not go past its proxies because its rule was not asked.
    @Test(arguments: 0..<2, [false, true])
    func aRuleThatWasNotAskedIsAnError(_ index: Int, _ isOwn: Bool) throws {
        let request = Request("http://a.example/"), rule = Self.rules[index]
        #expect(throws: TrellisError.self) {
            try isOwn ? Self.route(.direct, request.withProxy(rule)) : Self.route(rule, request)
        }
    }

    @Test(arguments: 0..<2)
    func theSelectedProxyIsTheRoute(_ index: Int) throws {
        let proxy = try Proxy("http://proxy.example:3128")
        let decision = ProxyDecision(proxies: [proxy], reason: "because")
        let request = Request("http://a.example/").through(proxy, decision, FoundAddresses())
        let chosen = try Self.route(Self.rules[index], request)
        #expect(chosen.route.parts.proxy == proxy.engine && chosen.decision == decision)
    }

    /// The addresses of a session's resolver are those of the network in which it was asked.
    @Test(arguments: [true, false])
    func aSessionInAnotherNetworkAsksItsResolverAgain(_ follows: Bool) async throws {
        let network = TestNetwork(), clock = TestClock()
        var configuration = SessionConfiguration()
        configuration.reachability = network.reachability
        configuration.followsNetworkChanges = follows
        configuration.resolver = Fixed()
        let session = Session(configuration: configuration)
        let names = session.preparation.routes.names
        _ = try await names.addresses(of: "a.example", .any, clock: clock.engineSide)
        #expect(names.count == 1)
        network.changeUplinks()
        #expect(names.count == (follows ? 0 : 1))
        await session.shutdown()
    }

    @Test func aSessionWithAScriptDependsOnItsNetwork() {
        #expect(RouteTable(proxies: .automatic(.text("")), route: Route()).dependsOnNetwork)
        #expect(!RouteTable(proxies: .environment, route: Route()).dependsOnNetwork)
    }

    /// The address that a SOCKS proxy has reached comes first for it. SOCKS 4 has no addresses of IPv6, and others get names.
    @Test func theAddressThatWasReachedComesFirst() throws {
        var route = Route()
        route.addresses = try StaticAddresses("a.example:*:2001:db8::1,192.0.2.1,192.0.2.2")
        let table = RouteTable(proxies: .direct, route: route), request = Request("http://a.example/")
        let url = try WireURL(parsing: request.url)
        func addresses(_ scheme: String) throws -> [String] {
            let proxy = try Proxy("\(scheme)://127.0.0.1")
            return try table.addressesInTurn(of: request, to: url, through: proxy).map(\.description)
        }
        #expect(try addresses("socks5") == ["2001:db8::1", "192.0.2.1", "192.0.2.2"])
        #expect(try addresses("socks4") == ["192.0.2.1", "192.0.2.2"])
        #expect(try addresses("socks5h").isEmpty && addresses("http").isEmpty)
        let reached = try #require(IPAddress("192.0.2.2"))
        table.didReach(reached, of: request, to: url, through: try Proxy("socks5://127.0.0.1"))
        #expect(try addresses("socks5") == ["192.0.2.2", "2001:db8::1", "192.0.2.1"])
        #expect(try addresses("socks4") == ["192.0.2.1", "192.0.2.2"])
    }

    /// A selection by another session is not used by a session whose rule needs none.
    @Test func aRuleWithoutAFunctionIgnoresAnEarlierSelection() throws {
        let (own, other) = (try Proxy("http://own.example"), try Proxy("http://other.example"))
        let decision = ProxyDecision(proxies: [other], reason: "")
        let request = Request("http://a.example/").through(other, decision, FoundAddresses())
        #expect(try Self.route(.always(own), request).route.parts.proxy == own.engine)
    }
}
