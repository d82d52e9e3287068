import CurlEngine
import Testing

@testable import Trellis

/// The routes of requests whose proxies are chosen while they are sent.
struct RouteTableTests {
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

    /// A selection by another session is not used by a session whose rule needs none.
    @Test func aRuleWithoutAFunctionIgnoresAnEarlierSelection() throws {
        let (own, other) = (try Proxy("http://own.example"), try Proxy("http://other.example"))
        let decision = ProxyDecision(proxies: [other], reason: "")
        let request = Request("http://a.example/").through(other, decision, FoundAddresses())
        #expect(try Self.route(.always(own), request).route.parts.proxy == own.engine)
    }
}
