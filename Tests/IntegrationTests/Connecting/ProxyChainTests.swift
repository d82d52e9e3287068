import Foundation
import Testing
import Trellis
import TrellisTesting

/// A SOCKS proxy in front of an HTTP proxy, and SOCKS proxies at Unix domain sockets, that break the rules or are gone.
@Suite(.timeLimit(.minutes(3)))
struct ProxyChainTests {
    private let clock = TestClock()

    private func session(_ proxy: Proxy) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .always(proxy)
        return Session(configuration: configuration, clock: clock)
    }

    /// Returns the failure of a request to a proxy that deviates from its protocol: silence ends with the limit on connecting.
    private func failure(
        _ session: Session, _ url: String, after deviation: SOCKSPeer.Deviation, _ silent: LoopbackServer.Gate
    ) async throws -> TrellisError? {
        guard case .silence = deviation else { return await expectFailure([.proxy]) { try await session.data(url) } }
        async let failure = expectFailure([.connectTimeout]) { try await session.data(url) }
        try await silent.opened()
        clock.move(by: .seconds(10))
        return await failure
    }

    private static let urls = ["http://far.invalid/", "https://far.invalid/"]

    /// The failure is that of the first proxy, which sees neither the credentials of the second one nor the request.
    @Test(arguments: SOCKSPeer.Point.allCases, urls)
    func aHostileFirstProxy(_ point: SOCKSPeer.Point, _ url: String) async throws {
        for deviation in SOCKSTests.deviations + [.silence] {
            let silent = LoopbackServer.Gate()
            let peer = try SOCKSPeer.start(
                login: point == .login ? ("front", "f") : nil, deviation: (point, deviation), silent: silent)
            let front = try Proxy("socks5h://\(point == .login ? "front:f@" : "")127.0.0.1:\(peer.port)")
            let session = session(try Proxy("http://back:s3cret@inner.invalid:3128").reached(through: front))
            let error = try await failure(session, url, after: deviation, silent)
            #expect(error?.mayHaveSentBytes == false && peer.requests.isEmpty)
            if error?.kind == .proxy { #expect(error?.description.contains("127.0.0.1:\(peer.port)") == true) }
            await session.shutdown()
            try await peer.waitUntilAllClosed()
        }
    }

    @Test(arguments: [1, 2, 5, 8, 255] as [UInt8], urls)
    func aFirstProxyThatRefuses(_ code: UInt8, _ url: String) async throws {
        let peer = try SOCKSPeer.start(reply: code)
        let front = try Proxy("socks5h://127.0.0.1:\(peer.port)")
        let session = session(try Proxy("http://back:s3cret@inner.invalid:3128").reached(through: front))
        let error = await expectFailure([.proxy]) { try await session.data(url) }
        #expect(error?.description.contains("s3cret") == false && peer.requests.isEmpty)
        await session.shutdown()
    }

    /// Knows the second proxy alone.
    private struct Directory: NameResolver {
        struct Unknown: Error {}

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            guard name == "inner.invalid" else { throw Unknown() }
            return try ResolvedAddresses(["192.0.2.7"], timeToLive: .seconds(60))
        }
    }

    /// A SOCKS proxy that wants an address gets that of the session's resolver or route for the second proxy: the system is not asked.
    @Test(arguments: ["socks4", "socks5"])
    func theSecondProxysAddressIsTheSessions(_ scheme: String) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(connects: connects)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(
            try Proxy("http://inner.invalid:3128").reached(through: Proxy("\(scheme)://127.0.0.1:\(peer.port)")))
        var other = configuration
        configuration.resolver = Directory()
        other.route.addresses = try StaticAddresses("inner.invalid:*:192.0.2.7")
        for configuration in [configuration, other] {
            let session = Session(configuration: configuration)
            for _ in 1...2 {
                #expect(try await session.string("http://far.invalid/").hasSuffix(" to 192.0.2.7:3128 as -"))
            }
            await session.shutdown()
        }
        #expect(connects.all.map { "\($0.host):\($0.port)" } == ["192.0.2.7:3128", "192.0.2.7:3128"])
        #expect(peer.requests.allSatisfy { $0.target == "http://far.invalid/" })
    }

    /// Routes with different addresses of the second proxy share no connection.
    @Test func theSecondProxysAddressesAreThoseOfTheRoute() async throws {
        let peer = try SOCKSPeer.start()
        let front = try Proxy("socks5://127.0.0.1:\(peer.port)")
        let session = session(try Proxy("http://inner.invalid:3128").reached(through: front))
        for address in ["192.0.2.7", "192.0.2.8", "192.0.2.7"] {
            var route = Route()
            route.addresses = try StaticAddresses("inner.invalid:3128:\(address)")
            let text = try await session.string(Request("http://far.invalid/").withRoute(route))
            #expect(text == "SOCKS 5 to \(address):3128 as -")
        }
        #expect(peer.acceptedCount == 2)
        await session.shutdown()
    }

    /// A second proxy that the resolver does not know is the failure of that proxy, and not of the server.
    @Test func theSecondProxysNameIsUnknown() async throws {
        let peer = try SOCKSPeer.start()
        var configuration = SessionConfiguration()
        configuration.resolver = Directory()
        configuration.proxy = .always(
            try Proxy("http://nowhere.invalid:3128").reached(through: Proxy("socks5://127.0.0.1:\(peer.port)")))
        let session = Session(configuration: configuration)
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.underlying is Directory.Unknown && peer.acceptedCount == 0)
        #expect(error?.description.contains("the name of the proxy nowhere.invalid:3128") == true, "\(error as Any)")
        await session.shutdown()
    }

    /// The credentials of the HTTP proxy are not offered to the SOCKS proxy.
    @Test(arguments: ["socks5h", "socks4a"])
    func theSecondProxysCredentialsAreItsOwn(_ scheme: String) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(connects: connects)
        let front = try Proxy("\(scheme)://127.0.0.1:\(peer.port)")
        let session = session(try Proxy("http://back:s3cret@inner.invalid:3128").reached(through: front))
        _ = try await session.data("http://far.invalid/")
        #expect(connects.all.map(\.username) == [nil] && connects.all.map(\.host) == ["inner.invalid"])
        #expect(peer.requests.map { $0["Proxy-Authorization"] } == ["Basic YmFjazpzM2NyZXQ="])
        await session.shutdown()
    }

    /// An HTTP proxy without credentials gets none of the SOCKS proxy in front of it.
    @Test func theFirstProxysCredentialsAreItsOwn() async throws {
        let peer = try SOCKSPeer.start(login: ("front", "s3cret"))
        let front = try Proxy("socks5h://front:s3cret@127.0.0.1:\(peer.port)")
        let session = session(try Proxy("http://inner.invalid:3128").reached(through: front))
        _ = try await session.data("http://far.invalid/")
        #expect(peer.requests.map { $0["Proxy-Authorization"] } == [nil])
        await session.shutdown()
    }

    // MARK: Unix domain sockets

    private func path(_ name: String) throws -> String { try temporaryFolder("proxy-sockets") + "/\(name)" }

    @Test func aLoginAtASocket() async throws {
        let path = try path("login"), connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(on: .unix(path: path), login: ("ada", "s3cret"), connects: connects)
        let session = session(try Proxy("socks5h://ada:s3cret@localhost\(path)"))
        for url in ["http://far.invalid/", "http://other.invalid:81/"] { _ = try await session.data(url) }
        #expect(connects.all.map(\.host) == ["far.invalid", "other.invalid"])
        #expect(connects.all.allSatisfy { $0.password == "s3cret" })
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test(arguments: SOCKSPeer.Point.allCases)
    func aHostileProxyAtASocket(_ point: SOCKSPeer.Point) async throws {
        for (index, deviation) in (SOCKSTests.deviations + [.silence]).enumerated() {
            let path = try path("\(point.rawValue)\(index)"), silent = LoopbackServer.Gate()
            let peer = try SOCKSPeer.start(
                on: .unix(path: path), login: point == .login ? ("ada", "b") : nil, deviation: (point, deviation),
                silent: silent)
            let session = session(try Proxy("socks5h://\(point == .login ? "ada:b@" : "")localhost\(path)"))
            let error = try await failure(session, "http://far.invalid/", after: deviation, silent)
            #expect(error?.mayHaveSentBytes == false && peer.requests.isEmpty)
            await session.shutdown()
            try await peer.waitUntilAllClosed()
        }
    }

    /// The file is missing, is no socket, or has no server any more.
    @Test(arguments: ["missing", "file", "dead"])
    func noProxyAtASocket(_ name: String) async throws {
        let path = try path(name)
        if name == "file" { try Data().write(to: URL(filePath: path)) }
        if name == "dead" { try LoopbackServer(on: .unix(path: path)) { _ in }.stop() }
        let session = session(try Proxy("socks5h://localhost\(path)"))
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.description.contains("no connection to the proxy \(path)") == true, "\(error as Any)")
        await session.shutdown()
    }

    @Test(arguments: [
        "socks5h://localhost/\(String(repeating: "a", count: 107))", "socks5h://localhost/a%00b",
        "socks5h://localhost/%zz",
    ])
    func aSocketThatCannotBe(_ url: String) {
        #expect(throws: TrellisError.self) { try Proxy(url) }
    }
}
