import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// Which names a session asks its resolver for, and which its engines look up.
@Suite(.timeLimit(.minutes(3)))
struct LocalLookupTests {
    /// A resolver that knows one address, and records the names.
    private final class Directory: NameResolver {
        private let names = Locked<[String]>([])
        let localNames: LocalNames
        var asked: [String] { names.withLock { $0 } }

        init(_ localNames: LocalNames) { self.localNames = localNames }

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            names.withLock { $0.append(name) }
            return try ResolvedAddresses(["192.0.2.1"], timeToLive: .seconds(60))
        }
    }

    /// The label is too long for DNS, so that the system finds no name with it without a question to anyone.
    private static let unknown = String(repeating: "a", count: 64) + ".local"

    /// A host, the proxy, and the names that the resolver is asked for.
    static let rows: [(String, String, [String])] = [
        ("a.example", "", ["a.example"]), ("db", "", []), ("db.", "", []), ("printer.local", "", []),
        ("localhost", "", []), ("127.0.0.1", "", []),
        // The proxy looks its servers up.
        ("db", "http://proxy.example", ["proxy.example"]), ("a.example", "http://proxy.internal", []),
        ("a.example", "socks5h://proxy.internal", []), ("a.example", "socks5h://proxy.example", ["proxy.example"]),
        ("a.example", "socks5://proxy.internal", ["a.example"]), ("a.example", "socks5://127.0.0.1", ["a.example"]),
    ]

    @Test(arguments: rows)
    func theResolverIsAskedForNamesThatAreNotLocal(_ host: String, _ proxy: String, _ asked: [String]) async throws {
        let resolver = Directory(.standard)
        let proxy = proxy.isEmpty ? Proxy.direct : try Proxy(proxy)
        let table = RouteTable(proxies: .direct, route: Route(), resolver: resolver)
        let request = Request("http://\(host)/"), url = try WireURL(parsing: request.url)
        let clock = TestClock().engineSide
        let known = try table.knownAddresses(for: request, to: url, through: proxy, now: clock.now())
        #expect((known == nil) == !asked.isEmpty)
        _ = try await table.findAddresses(for: request, to: url, through: proxy, clock: clock) { _ in }
        #expect(resolver.asked == asked)
        #expect(try table.knownAddresses(for: request, to: url, through: proxy, now: clock.now()) != nil)
    }

    /// The engine looks up the name, as it does in a session without a resolver.
    @Test func theRouteOfALocalNameIsTheOneWithoutAResolver() throws {
        let request = Request("http://db/").through(
            .direct, decision: ProxyDecision(proxies: [.direct], reason: ""), addresses: FoundAddresses())
        let url = try WireURL(parsing: request.url)
        let table = RouteTable(proxies: .direct, route: Route(), resolver: Directory(.standard))
        #expect(try table.route(to: url, of: request).route === TransferRoute.direct)
        let other = RouteTable(proxies: .direct, route: Route(), resolver: Directory(.none))
        #expect(throws: TrellisError.self) { try other.route(to: url, of: request) }
    }

    /// A SOCKS proxy that wants an address gets the system's.
    @Test func theSystemIsAskedForASOCKSProxy() async throws {
        let resolver = Directory(.standard)
        let table = RouteTable(proxies: .direct, route: Route(), resolver: resolver)
        let request = Request("http://\(Self.unknown)/"), url = try WireURL(parsing: request.url)
        let proxy = try Proxy("socks5://127.0.0.1")
        await #expect(throws: TrellisError.self) {
            try await table.findAddresses(for: request, to: url, through: proxy, clock: TestClock().engineSide) { _ in }
        }
        #expect(resolver.asked == [])
    }
}
