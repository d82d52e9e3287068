import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The routes of requests whose proxies are chosen while they are sent.
@Suite(.timeLimit(.minutes(3)))
struct RouteTableTests {
    /// A resolver that knows one address.
    private struct Fixed: NameResolver {
        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            try ResolvedAddresses(["192.0.2.1"], timeToLive: .seconds(60))
        }
    }

    /// An access of calls whose rules have no script.
    private struct NoScript: ProxyScriptAccess {
        let now = EngineInstant(nanoseconds: 1)

        func wait(for duration: Duration) async throws {}
        func fetch(_ url: String) async throws -> (Data, HTTPFields) { throw CancellationError() }
    }

    private static func route(_ rule: ProxyConfiguration, _ request: Request) throws -> RouteTable.Chosen {
        let url = try WireURL(parsing: request.url)
        return try RouteTable(proxies: rule, route: Route()).route(to: url, of: request)
    }

    private static let rules: [ProxyConfiguration] = [.selecting { _ in [] }, .absentScript]

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
        let request = Request("http://a.example/").through(proxy, decision: decision, addresses: FoundAddresses())
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
        #expect(RouteTable(proxies: .absentScript, route: Route()).dependsOnNetwork)
        #expect(!RouteTable(proxies: .environment, route: Route()).dependsOnNetwork)
    }

    @Test func aSessionWithSeveralProxiesDependsOnItsNetwork() throws {
        let proxy = try Proxy("http://proxy.example:3128")
        #expect(RouteTable(proxies: .always([proxy, .direct]), route: Route()).dependsOnNetwork)
        #expect(RouteTable(proxies: Self.rules[0], route: Route()).dependsOnNetwork)
        for rule in [.always(proxy), .direct] as [ProxyConfiguration] {
            #expect(!RouteTable(proxies: rule, route: Route()).dependsOnNetwork)
        }
    }

    /// A proxy that was out of reach in one network may be reached in another one. An attempt in the former one shows nothing.
    @Test func aChangeOfTheNetworkForgetsFailuresOfProxies() async throws {
        let (first, second) = (try Proxy("http://first.example"), try Proxy("http://second.example"))
        let table = RouteTable(proxies: .always([first, second]), route: Route())
        let request = Request("http://a.example/"), access = NoScript()
        let url = try WireURL(parsing: request.url)
        let changes = table.networkChanges
        table.didFail(first, origin: nil, for: request, after: changes, now: access.now)
        #expect(try await table.decision(for: request, url, access).proxies == [second, first])
        table.networkDidChange()
        #expect(try await table.decision(for: request, url, access).proxies == [first, second])
        table.didFail(first, origin: nil, for: request, after: changes, now: access.now)
        #expect(try await table.decision(for: request, url, access).proxies == [first, second])
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

    /// The addresses of which a SOCKS proxy is asked for one share the limit on the connections to their origin, and no connection.
    @Test func theAddressesOfAServerShareALimit() throws {
        let proxy = try Proxy("socks5://127.0.0.1"), decision = ProxyDecision(proxies: [proxy], reason: "")
        var configuration = SessionConfiguration()
        configuration.proxy = .always(proxy)
        let preparation = RequestPreparation(configuration)
        func prepared(_ choice: String?, of addresses: String...) throws -> PreparedRequest {
            var found = FoundAddresses()
            found.server = addresses.compactMap { IPAddress($0) }
            found.choice = choice.flatMap { IPAddress($0) }
            let request = Request("http://a.example/").through(proxy, decision: decision, addresses: found)
            return try preparation.prepare(request, delivery: .memory, start: .init(nanoseconds: 1))
        }
        let first = try prepared("192.0.2.1", of: "192.0.2.1", "192.0.2.2")
        let next = try prepared("192.0.2.2", of: "192.0.2.1", "192.0.2.2")
        let later = try prepared("192.0.2.3", of: "192.0.2.3", "192.0.2.4")
        let whole = try prepared(nil, of: "192.0.2.5")
        #expect([next, later, whole].allSatisfy { $0.wire.queue == first.wire.queue })
        #expect(Set([first, next, later, whole].map { $0.wire.pool }).count == 4)
        let again = try prepared("192.0.2.1", of: "192.0.2.1", "192.0.2.2")
        #expect(again.wire.route === first.wire.route && again.wire.pool == first.wire.pool)
        // The engine is chosen before the addresses are known.
        #expect(preparation.queue(of: Request("http://a.example/")) == first.wire.queue)
    }

    /// A selection by another session is not used by a session whose rule needs none.
    @Test func aRuleWithoutAFunctionIgnoresAnEarlierSelection() throws {
        let (own, other) = (try Proxy("http://own.example"), try Proxy("http://other.example"))
        let decision = ProxyDecision(proxies: [other], reason: "")
        let request = Request("http://a.example/").through(other, decision: decision, addresses: FoundAddresses())
        #expect(try Self.route(.always(own), request).route.parts.proxy == own.engine)
    }
}
