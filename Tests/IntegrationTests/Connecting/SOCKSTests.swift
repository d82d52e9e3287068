import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Requests pass through a SOCKS proxy.
@Suite(.timeLimit(.minutes(3)))
struct SOCKSTests {
    private func session(_ proxy: Proxy, _ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .always(proxy)
        change(&configuration)
        return Session(configuration: configuration)
    }

    /// The kind, the URL, and the text of the server: the version, the host that the proxy got, and the user.
    static let ways: [(Proxy.Kind, String, String)] = [
        (.socks4, "http://127.0.0.1:81/a", "SOCKS 4 to 127.0.0.1:81 as -"),
        (.socks4, "http://localhost:81/a", "SOCKS 4 to 127.0.0.1:81 as -"),
        (.socks4a, "http://far.invalid/a", "SOCKS 4 to far.invalid:80 as -"),
        (.socks5, "http://127.0.0.1:81/a", "SOCKS 5 to 127.0.0.1:81 as -"),
        (.socks5h, "http://far.invalid/a", "SOCKS 5 to far.invalid:80 as -"),
        (.socks5h, "http://127.0.0.1:81/a", "SOCKS 5 to 127.0.0.1:81 as -"),
    ]

    @Test(arguments: ways)
    func theProxyConnectsToTheServer(_ kind: Proxy.Kind, _ url: String, _ text: String) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(connects: connects)
        let session = session(try Proxy("\(kind.rawValue)://127.0.0.1:\(peer.port)"))
        for _ in 1...2 { #expect(try await session.string(url) == text) }
        #expect(connects.all.count == 1 && peer.requests.allSatisfy { $0.target == "/a" })
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test(arguments: [
        ("ada", "s:e/c%ret"), ("a%41", "a%2Fb%2"),
        (String(repeating: "a", count: 255), String(repeating: "b", count: 255)),
    ])
    func theProxyGetsTheCredentials(_ username: String, _ password: String) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(login: (username, password), connects: connects)
        let proxy = try Proxy("socks5h://127.0.0.1:\(peer.port)", username: username, password: password)
        let session = session(proxy)
        #expect(try await session.string("http://far.invalid/a").hasSuffix(username))
        #expect(connects.all.map(\.password) == [password])
        let head = String(decoding: try #require(peer.requests.first).headBytes, as: UTF8.self)
        #expect(!head.contains("uthori") && !head.contains(password))
        await session.shutdown()
    }

    @Test func theUserOfSOCKS4HasNoPassword() async throws {
        let peer = try SOCKSPeer.start()
        let session = session(try Proxy("socks4a://ada@127.0.0.1:\(peer.port)"))
        #expect(try await session.string("http://far.invalid/a") == "SOCKS 4 to far.invalid:80 as ada")
        await session.shutdown()
    }

    @Test func aSocketCanBeTheProxy() async throws {
        let path = try temporaryFolder("socks") + "/a socket"
        let peer = try SOCKSPeer.start(on: .unix(path: path))
        let session = session(try Proxy("socks5h://localhost\(path.replacingOccurrences(of: " ", with: "%20"))"))
        #expect(try await session.string("http://far.invalid/a") == "SOCKS 5 to far.invalid:80 as -")
        await session.shutdown()
        peer.stop()
    }

    /// A SOCKS proxy in front of an HTTP proxy connects to that proxy, which gets the request.
    @Test(arguments: [false, true])
    func aChainOfTwo(_ isTunnel: Bool) async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try SOCKSPeer.start(login: ("front", "f:@/%"), connects: connects) { connection in
            while let head = try connection.readHead() {
                _ = try connection.readBody(of: head, storing: false)
                if head.method == "CONNECT" { try connection.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n") }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let front = try Proxy("socks5h://127.0.0.1:\(peer.port)", username: "front", password: "f:@/%")
        let proxy = try Proxy("http://back:b@inner.invalid:3128").reached(through: front)
        #expect("\(proxy)".contains("inner.invalid") && !"\(proxy)".contains("f:@"))
        let session = session(proxy)
        if isTunnel {
            let error = await expectFailure([.proxy]) { try await session.data("https://far.invalid/a") }
            #expect(error?.description.contains("the proxy inner.invalid:3128 makes no tunnel") == true)
        } else {
            #expect(try await session.string("http://far.invalid/a") == "ok")
        }
        let basic = "Basic " + Data("back:b".utf8).base64EncodedString()
        let target = isTunnel ? "far.invalid:443" : "http://far.invalid/a"
        #expect(peer.requests.map(\.target) == [target] && peer.requests[0]["Proxy-Authorization"] == basic)
        let expected = SOCKSPeer.Connect(
            version: 5, host: "inner.invalid", port: 3128, username: "front", password: "f:@/%")
        #expect(connects.all == [expected])
        await session.shutdown()
    }

    // MARK: Several addresses

    /// A resolver that knows three addresses of every name.
    private struct Several: NameResolver {
        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            try ResolvedAddresses(["192.0.2.1", "192.0.2.2", "192.0.2.3"], timeToLive: .seconds(60))
        }
    }

    /// A proxy that is asked for addresses is asked for the next one if it does not reach the one before. Later requests begin with the
    /// address that it has reached, and share its connection.
    @Test(arguments: [(.socks4, 91), (.socks5, 3), (.socks5, 4), (.socks5, 5), (.socks5, 8)] as [(Proxy.Kind, UInt8)])
    func theNextAddressIsTried(_ kind: Proxy.Kind, _ code: UInt8) async throws {
        let addresses = try StaticAddresses("far.invalid:*:192.0.2.1,192.0.2.2,192.0.2.3")
        for isResolved in [false, true] {
            let connects = SOCKSPeer.Recorder()
            let peer = try SOCKSPeer.start(replies: ["192.0.2.1": code, "192.0.2.2": code], connects: connects)
            let session = session(try Proxy("\(kind.rawValue)://127.0.0.1:\(peer.port)")) {
                if isResolved { $0.resolver = Several() } else { $0.route.addresses = addresses }
            }
            let request = Request("http://far.invalid/", method: .post, body: .string("abc"))
            for _ in 1...2 { #expect(try await session.string(request).hasSuffix(" to 192.0.2.3:80 as -")) }
            #expect(connects.all.map(\.host) == ["192.0.2.3"] && peer.acceptedCount == 3)
            #expect(peer.requests.map(\.method) == ["POST", "POST"])
            await session.shutdown()
        }
    }

    /// `localhost` has an address of each version.
    @Test func bothAddressesOfThisMachineAreTried() async throws {
        let six = String(repeating: "0:", count: 15) + "1"
        let peer = try SOCKSPeer.start(replies: [six: 5])
        let session = session(try Proxy("socks5://127.0.0.1:\(peer.port)"))
        #expect(try await session.string("http://localhost:81/") == "SOCKS 5 to 127.0.0.1:81 as -")
        #expect(peer.acceptedCount == 2)
        await session.shutdown()
    }

    /// A resolver whose third lookup has other addresses than the first two.
    private final class Moving: NameResolver {
        private let count = Locked(0)

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            let first = count.next() <= 2 ? 1 : 3
            return try ResolvedAddresses(["192.0.2.\(first)", "192.0.2.\(first + 1)"], timeToLive: .zero)
        }
    }

    /// A request waits for a connection to its origin although it goes to another address than those that have the connections.
    @Test func allAddressesTogetherHaveOneLimit() async throws {
        let mayEnd = LoopbackServer.Gate(), connects = SOCKSPeer.Recorder(), events = ConnectionEvents()
        let peer = try SOCKSPeer.start(connects: connects) { connection in
            while let request = try connection.nextRequest() {
                if request.path == "/long" { try connection.wait(for: mayEnd) }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let session = session(try Proxy("socks5://127.0.0.1:\(peer.port)")) {
            $0.resolver = Moving()
            $0.engines = .fixed(1)
            $0.limits.perOrigin = 2
        }
        let request = Request("http://far.invalid/long")
        var answers: [Task<String, any Error>] = []
        for count in 1...2 {
            answers.append(Task { try await session.string(request) })
            try await peer.waitUntilRequested(count: count)
        }
        answers.append(Task { try await session.string(request.withEventMonitor(events)) })
        try await events.wait(for: "queued")
        // The engine makes connections in the order of its requests, and the proxy accepts them in that order.
        #expect(try await session.string("http://other.invalid/") == "ok")
        #expect(peer.acceptedCount == 3)
        mayEnd.open()
        for answer in answers { #expect(try await answer.value == "ok") }
        #expect(connects.all.map(\.host) == ["192.0.2.1", "192.0.2.1", "192.0.2.3", "192.0.2.3"])
        await session.shutdown()
    }

    /// The failure is that of the last address, after each was asked for once.
    @Test func noAddressIsReached() async throws {
        let peer = try SOCKSPeer.start(reply: 4)
        let session = session(try Proxy("socks5://127.0.0.1:\(peer.port)")) { $0.resolver = Several() }
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.description.contains("makes no connection to the server") == true, "\(error as Any)")
        #expect(error?.mayHaveSentBytes == false && peer.acceptedCount == 3 && peer.requests.isEmpty)
        await session.shutdown()
    }

    // MARK: Failures

    @Test(arguments: 1...10, [Proxy.Kind.socks5h, .socks5])
    func everyReplyIsAFailureOfTheProxy(_ code: UInt8, _ kind: Proxy.Kind) async throws {
        let peer = try SOCKSPeer.start(reply: code)
        let session = session(try Proxy("\(kind.rawValue)://127.0.0.1:\(peer.port)"))
        let error = await expectFailure([.proxy]) { try await session.data("http://127.0.0.1:9/") }
        #expect(error?.description.contains("makes no connection to the server") == true, "\(error as Any)")
        // Not allowed by the rules, and an unsupported command or type of address, are the same at the next attempt.
        #expect(error?.isRetryable == ![2, 7, 8].contains(code), "\(code)")
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
    }

    @Test(arguments: [91, 92, 93, 94] as [UInt8])
    func everyReplyOfSOCKS4IsAFailure(_ code: UInt8) async throws {
        let peer = try SOCKSPeer.start(reply: code)
        let session = session(try Proxy("socks4a://ada@127.0.0.1:\(peer.port)"))
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
    }

    @Test(arguments: [nil, ("ada", "wrong"), ("ada", "")] as [(String, String)?])
    func refusedCredentials(_ pair: (String, String)?) async throws {
        let peer = try SOCKSPeer.start(login: ("ada", "s3cret"))
        let proxy = try Proxy("socks5h://127.0.0.1:\(peer.port)", username: pair?.0, password: pair?.1)
        let session = session(proxy)
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        let words = pair == nil ? "asks for credentials" : "does not accept the credentials"
        #expect(error?.description.contains(words) == true && error?.isRetryable == false, "\(error as Any)")
        #expect(error?.description.contains("wrong") == false)
        await session.shutdown()
    }

    static let deviations: [SOCKSPeer.Deviation] = [
        .end, .garbage, .bytes([5]), .bytes([5, 0, 0]), .bytes([5, 0, 0, 3, 255]), .bytes([4, 0]),
        .bytes([5, 1, 0, 9]),
        .bytes([UInt8](repeating: 255, count: 70_000)),
    ]

    @Test(arguments: SOCKSPeer.Point.allCases, deviations.indices)
    func aProxyThatDeviatesIsAFailure(_ point: SOCKSPeer.Point, _ index: Int) async throws {
        let peer = try SOCKSPeer.start(
            login: point == .login ? ("a", "b") : nil, deviation: (point, Self.deviations[index]))
        let pair = point == .login ? "a:b@" : ""
        let session = session(try Proxy("socks5h://\(pair)127.0.0.1:\(peer.port)"))
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.mayHaveSentBytes == false, "\(error as Any)")
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test(arguments: SOCKSPeer.Point.allCases, [Proxy.Kind.socks5h, .socks4a])
    func silenceEndsAtTheTimeToConnect(_ point: SOCKSPeer.Point, _ kind: Proxy.Kind) async throws {
        let point = kind == .socks4a ? .reply : point
        let silent = LoopbackServer.Gate(), clock = TestClock()
        let peer = try SOCKSPeer.start(
            login: point == .login ? ("a", "b") : nil, deviation: (point, .silence), silent: silent)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("\(kind.rawValue)://a:b@127.0.0.1:\(peer.port)"))
        let session = Session(configuration: configuration, clock: clock)
        async let failure = expectFailure([.connectTimeout]) { try await session.data("http://far.invalid/") }
        try await silent.opened()
        clock.move(by: .seconds(10))
        #expect(await failure?.isConnectionFailure == true)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test func aNameThatCannotBeLookedUpHereIsTheServers() async throws {
        let peer = try SOCKSPeer.start()
        let session = session(try Proxy("socks5://127.0.0.1:\(peer.port)"))
        let error = await expectFailure([.dns]) { try await session.data("http://far.invalid/") }
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
    }

    @Test(arguments: Proxy.Kind.allCases.dropFirst())
    func aProxyThatIsGone(_ kind: Proxy.Kind) async throws {
        let gone = try ClosedPort()
        let session = session(try Proxy("\(kind.rawValue)://127.0.0.1:\(gone.port)"))
        let error = await expectFailure([.proxy]) { try await session.data("http://127.0.0.1:9/") }
        #expect(error?.description.contains("no connection to the proxy 127.0.0.1:\(gone.port)") == true)
        await session.shutdown()
    }
}
