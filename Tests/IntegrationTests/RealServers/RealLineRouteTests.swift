import Foundation
import Testing
import Trellis

/// Requests reach nginx on the way that their route says, which is that of their session or their own.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"))
struct RealLineRouteTests {
    private let server: RealLineServer

    init() async throws { server = try await RealLineServer.started.value }

    private func route(_ change: (inout Route) throws -> Void) rethrows -> Route {
        var route = Route()
        try change(&route)
        return route
    }

    private func session(_ route: Route = Route()) -> Session {
        var configuration = SessionConfiguration()
        configuration.route = route
        return Session(configuration: configuration)
    }

    private func url(_ host: String) -> String { "http://\(host):\(server.port)/" }

    /// Requires a response to a request on a route, which is that of a session at first, and then that of the request alone.
    private func expect(
        _ text: String, _ url: String, _ route: Route, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (own, plain) = (session(route), session())
        let ofSession = try await own.string(url)
        #expect(ofSession == text, "the session's route", sourceLocation: sourceLocation)
        for _ in 1...2 {
            let ofRequest = try await plain.string(Request(url).withRoute(route))
            #expect(ofRequest == text, "the request's route", sourceLocation: sourceLocation)
        }
        // The route of the session does not change.
        let other = try await plain.string(self.url("127.0.0.1"))
        #expect(other == "127.0.0.1 127.0.0.1", sourceLocation: sourceLocation)
        // The route of a request replaces that of its session.
        let direct = try await own.string(Request(self.url("127.0.0.1")).withRoute(Route()))
        #expect(direct == "127.0.0.1 127.0.0.1", sourceLocation: sourceLocation)
        await own.shutdown()
        await plain.shutdown()
    }

    // MARK: Addresses

    @Test(arguments: ["one.invalid:PORT", "one.invalid:*", "*:PORT", "*:*"])
    func addressesOfNames(_ key: String) async throws {
        let entry = key.replacing("PORT", with: "\(server.port)")
        let route = try route { $0.addresses = try StaticAddresses("\(entry):127.0.0.1") }
        try await expect("127.0.0.1 one.invalid", url("one.invalid"), route)
        let session = session(route)
        if key.hasPrefix("*") {
            #expect(try await session.string(url("two.invalid")) == "127.0.0.1 two.invalid")
        } else {
            await expectFailure([.dns]) { try await session.data(url("two.invalid")) }
        }
        // On another port, the entries with a port do not count, and no server listens.
        await expectFailure(key.hasSuffix("*") ? [.connect] : [.dns]) {
            try await session.data("http://one.invalid:9/")
        }
        await session.shutdown()
    }

    /// Of the entries that match, the one for the host and the port counts first, and the one for everything last.
    @Test func theMostSpecificEntryCounts() async throws {
        let port = server.port
        let route = try route {
            $0.addresses = try StaticAddresses(
                "*:*:127.0.0.99", "*:\(port):[::1]", "one.invalid:\(port):127.0.0.1", "two.invalid:*:127.0.0.1")
        }
        let session = session(route)
        for (host, text) in [
            ("one.invalid", "127.0.0.1 one.invalid"), ("two.invalid", "127.0.0.1 two.invalid"),
            ("three.invalid", "::1 three.invalid"),
        ] {
            #expect(try await session.string(url(host)) == text)
        }
        await session.shutdown()
    }

    // MARK: Versions of IP

    @Test(arguments: [AddressFamily.ipv4, .ipv6])
    func onlyOneVersion(_ family: AddressFamily) async throws {
        let own = family == .ipv4 ? "127.0.0.1" : "::1"
        for list in ["127.0.0.1,[::1]", "[::1],127.0.0.1"] {
            let route = try route {
                $0.addressFamily = family
                $0.addresses = try StaticAddresses("both.invalid:*:\(list)")
            }
            let session = session(route)
            let (data, response) = try await session.data(url("both.invalid"))
            #expect(String(decoding: data, as: UTF8.self) == "\(own) both.invalid")
            #expect(response.metrics.peerAddress?.contains(own) == true)
            await session.shutdown()
        }
        // A request alone can have the rule, too.
        let (plain, rule) = (session(), route { $0.addressFamily = family })
        #expect(try await plain.string(Request(url("localhost")).withRoute(rule)) == "\(own) localhost")
        let other = Request(url(family == .ipv4 ? "[::1]" : "127.0.0.1"))
        let error = await expectFailure([.invalidRequest]) { try await plain.data(other.withRoute(rule)) }
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false)
        // Without the rule, the address is reached.
        #expect(try await plain.string(other) == (family == .ipv4 ? "::1 [::1]" : "127.0.0.1 127.0.0.1"))
        await plain.shutdown()
    }

    // MARK: The own address

    @Test(arguments: ["127.0.0.2", "lo"])
    func theSource(_ name: String) async throws {
        let route = try route {
            $0.source = try name == "lo" ? .interface(name) : .address(name)
        }
        try await expect("\(name == "lo" ? "127.0.0.1" : name) 127.0.0.1", url("127.0.0.1"), route)
    }

    /// nginx sees the source of each request, whatever those of the requests before were.
    @Test func sourcesAlternate() async throws {
        let session = session(try route { $0.source = try .address("127.0.0.2") })
        let third = try route { $0.source = try .address("127.0.0.3") }
        for (own, source) in [
            (nil, "127.0.0.2"), (third, "127.0.0.3"), (Route(), "127.0.0.1"), (third, "127.0.0.3"), (nil, "127.0.0.2"),
        ] as [(Route?, String)] {
            let request = Request(url("127.0.0.1")).withRoute(own)
            #expect(try await session.string(request) == "\(source) 127.0.0.1")
        }
        await session.shutdown()
    }

    // MARK: Sockets

    @Test func aSocketInTheFileSystem() async throws {
        try await expect("unix: any.invalid", "http://any.invalid/", try .unixSocket(server.socketPath))
    }

    /// nginx has no abstract sockets: socat has one, and passes the connections on.
    @Test(.requires("socat")) func anAbstractSocket() async throws {
        let name = try await server.abstractSocket()
        let route = try route { $0.unixSocket = try .abstract(name) }
        try await expect("unix: any.invalid", "http://any.invalid/", route)
        // The name is no path, and a part of it is another name.
        for other in [try Route.unixSocket(name), try self.route { $0.unixSocket = try .abstract("\(name)x") }] {
            let session = session(other)
            let error = await expectFailure([.connect]) { try await session.data("http://any.invalid/") }
            #expect(error?.mayHaveSentBytes == false)
            await session.shutdown()
        }
    }
}
