import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A session asks a server by DNS over HTTPS.
@Suite(.timeLimit(.minutes(3)))
struct DNSOverHTTPSTests {
    /// The question of a request, as the server has read it.
    struct Question: Hashable, Sendable {
        let name: String
        let type: UInt8

        /// Reads a message with one question.
        init(_ message: Data) {
            let bytes = [UInt8](message)
            var (labels, place) = ([String](), 12)
            while place < bytes.count, bytes[place] > 0 {
                let end = min(place + 1 + Int(bytes[place]), bytes.count)
                labels.append(String(decoding: bytes[(place + 1)..<end], as: UTF8.self))
                place = end
            }
            name = labels.joined(separator: ".")
            type = place + 2 < bytes.count ? bytes[place + 2] : 0
        }

        /// Reads the question of a request.
        init?(_ request: LoopbackServer.ReceivedRequest) {
            guard let message = DNSOverHTTPSTests.question(of: request) else { return nil }
            self.init(message)
        }
    }

    /// Returns the message of a request: its body, or the query of its URL.
    private static func question(of request: LoopbackServer.ReceivedRequest) -> Data? {
        if request.method == "POST" { return request.body }
        guard let query = request.query, query.hasPrefix("dns=") else { return nil }
        var text = query.dropFirst(4).replacing("-", with: "+").replacing("_", with: "/")
        while text.count % 4 > 0 { text += "=" }
        return Data(base64Encoded: String(text))
    }

    /// Returns the response with the addresses of a question, or with a code.
    private static func message(
        to request: LoopbackServer.ReceivedRequest, _ addresses: [[UInt8]], code: UInt8 = 0, timeToLive: UInt8 = 60
    ) -> Data {
        let question = question(of: request) ?? Data()
        let head: [UInt8] = [0, 0, 0x81, 0x80 | code, 0, 1, 0, UInt8(addresses.count), 0, 0, 0, 0]
        let records = addresses.map { address -> [UInt8] in
            let type: UInt8 = address.count == 4 ? 1 : 28
            return [0xC0, 12, 0, type, 0, 1, 0, 0, 0, timeToLive, 0, UInt8(address.count)] + address
        }
        return Data(head + question.dropFirst(12) + records.joined())
    }

    private static let type = ("Content-Type", "application/dns-message")

    /// A server that knows the IPv4 address of every name.
    static func server(
        _ answer: @escaping @Sendable (LoopbackServer.ReceivedRequest, UInt8) -> LoopbackServer.Response = {
            request, type in
            .init(200, headers: [Self.type], body: message(to: request, type == 1 ? [[127, 0, 0, 1]] : []))
        }
    ) throws -> LoopbackServer {
        try LoopbackServer.http { request in
            guard let question = Question(request) else { return .init(400) }
            return answer(request, question.type)
        }
    }

    /// A server as ``server(_:)`` that answers the first two questions when it has both: the resolver does not wait for long for the second
    /// answer, and gives up that question.
    private static func serverOfBothQuestions() throws -> LoopbackServer {
        let (count, hasBoth) = (Locked(0), DispatchedWait())
        return try server { request, type in
            if count.next() == 1 { hasBoth.wait(atMost: 100) } else { hasBoth.end() }
            return .init(200, headers: [Self.type], body: Self.message(to: request, type == 1 ? [[127, 0, 0, 1]] : []))
        }
    }

    private func session(
        _ server: LoopbackServer, _ method: DNSOverHTTPS.Method = .post, _ host: String = "127.0.0.1",
        bootstrap: [String] = [], clock: TestClock? = nil
    ) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS(
            "http://\(host):\(server.port)/dns-query", method: method, bootstrap: bootstrap)
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    @Test func namesAreAskedFor() async throws {
        let (dns, web) = (try Self.serverOfBothQuestions(), try LoopbackServer.http { .text($0["Host"] ?? "") })
        let session = try session(dns)
        for _ in 1...2 {
            #expect(try await session.string("http://a.far.invalid:\(web.port)/") == "a.far.invalid:\(web.port)")
        }
        let questions = Set(dns.requests.compactMap(Question.init))
        #expect(questions.map(\.name) == ["a.far.invalid", "a.far.invalid"] && Set(questions.map(\.type)) == [1, 28])
        #expect(dns.requests.count == 2)
        for request in dns.requests {
            #expect(request.method == "POST" && request.target == "/dns-query")
            #expect(
                request["Content-Type"] == "application/dns-message" && request["Accept"] == "application/dns-message")
            #expect(request["User-Agent"] == nil && request["Accept-Language"] == nil && request["Cookie"] == nil)
        }
        await session.shutdown()
    }

    /// The question in a URL, with a name that has no padding to encode.
    @Test func namesAreAskedForInTheURL() async throws {
        let dns = try Self.server()
        let resolver = try DNSOverHTTPS(dns.url("/dns-query{?dns}"), method: .get)
        let found = try? await resolver.addresses(of: "www.example.com", family: .ipv4)
        #expect(found?.addresses == ["127.0.0.1"])
        // The text of RFC 8484, section 4.1.1.
        #expect(dns.requests.map(\.target) == ["/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB"])
        #expect(dns.requests.allSatisfy { $0.method == "GET" && $0["Accept"] == "application/dns-message" })
    }

    @Test(arguments: [AddressFamily.ipv4, .ipv6])
    func oneVersionIsOneQuestion(_ family: AddressFamily) async throws {
        let dns = try Self.server { request, type in
            let address: [UInt8] = type == 1 ? [127, 0, 0, 1] : Array(repeating: 0, count: 15) + [1]
            return .init(200, headers: [Self.type], body: Self.message(to: request, [address], timeToLive: 7))
        }
        let resolver = try DNSOverHTTPS(dns.url("/"))
        let found = try await resolver.addresses(of: "a.invalid", family: family)
        #expect(found.addresses == [family == .ipv4 ? "127.0.0.1" : "::1"] && found.timeToLive == .seconds(7))
        #expect(dns.requests.count == 1)
    }

    /// The age of the response counts (RFC 8484, section 5.1).
    @Test func theTimeToLiveIsShorterByTheAge() async throws {
        let dns = try Self.server { request, _ in
            .init(
                200, headers: [Self.type, ("Age", "2")],
                body: Self.message(to: request, [[127, 0, 0, 1]], timeToLive: 7))
        }
        let found = try await DNSOverHTTPS(dns.url("/")).addresses(of: "a.invalid", family: .ipv4)
        #expect(found.addresses == ["127.0.0.1"] && found.timeToLive == .seconds(5))
    }

    @Test func theServerHasBootstrapAddresses() async throws {
        let dns = try Self.server()
        let elsewhere = try session(dns, .post, "a.localhost", bootstrap: ["127.0.0.9"])
        await expectFailure([.dns]) { try await elsewhere.data("http://b.invalid/") }
        await elsewhere.shutdown()
        let session = try session(dns, .post, "a.localhost", bootstrap: ["127.0.0.1"])
        let web = try LoopbackServer.http { _ in .text("ok") }
        #expect(try await session.string("http://b.invalid:\(web.port)/") == "ok")
        #expect(Set(dns.requests.compactMap { $0["Host"] }) == ["a.localhost:\(dns.port)"])
        await session.shutdown()
    }

    @Test func fixedAddressesOfTheServerAreUsed() async throws {
        let dns = try Self.server()
        var own = SessionConfiguration()
        own.route.addresses = try StaticAddresses("a.localhost:\(dns.port):127.0.0.9")
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS("http://a.localhost:\(dns.port)/dns-query", configuration: own)
        let session = Session(configuration: configuration)
        await expectFailure([.dns]) { try await session.data("http://b.invalid/") }
        #expect(dns.acceptedCount == 0)
        await session.shutdown()
    }

    /// nginx speaks TLS, and HTTP/2, in front of the server.
    @Test(.requiresPeers, .requires("nginx"), arguments: DNSOverHTTPS.Method.allCases)
    func overTLSAndHTTP2(_ method: DNSOverHTTPS.Method) async throws {
        let peer = try await Peer.realServers.value
        let (dns, web) = (try Self.serverOfBothQuestions(), try LoopbackServer.http { _ in .text("ok") })
        var own = SessionConfiguration()
        own.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let url = try peer.url("nginx", "/to/\(dns.port)/dns-query")
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS(url, method: method, configuration: own)
        let session = Session(configuration: configuration)
        #expect(try await session.string("http://a.invalid:\(web.port)/") == "ok")
        #expect(dns.requests.map { $0["X-Protocol"] } == ["HTTP/2.0 TLSv1.3", "HTTP/2.0 TLSv1.3"])
        await session.shutdown()
        // The resolver's own session trusts the server, not the session that asks it.
        configuration.resolver = try DNSOverHTTPS(url, method: method)
        let distrustful = Session(configuration: configuration)
        let error = await expectFailure([.dns]) { try await distrustful.data("http://a.invalid:\(web.port)/") }
        #expect((error?.underlying as? TrellisError)?.kind == .untrusted)
        await distrustful.shutdown()
    }

    // MARK: Failures

    static let failures: [(Int, String?, UInt8, DNSFailure)] = [
        (200, "application/dns-message", 3, .noSuchName), (200, "application/dns-message", 2, .refused(code: 2)),
        (500, "application/dns-message", 0, .status(500)), (404, nil, 0, .status(404)),
        (302, "application/dns-message", 0, .status(302)), (200, "text/html", 0, .contentType("text/html")),
        (200, nil, 0, .contentType(nil)),
    ]

    @Test(arguments: failures)
    func failuresAreTold(_ status: Int, _ type: String?, _ code: UInt8, _ failure: DNSFailure) async throws {
        let dns = try Self.server { request, _ in
            let headers = [type.map { ("Content-Type", $0) }, ("Location", "/elsewhere")].compactMap { $0 }
            return .init(status, headers: headers, body: Self.message(to: request, [], code: code))
        }
        let session = try session(dns)
        let error = await expectFailure([.dns]) { try await session.data("http://a.invalid/") }
        #expect(error?.underlying as? DNSFailure == failure)
        #expect(error?.description.contains("a.invalid: \(failure)") == true)
        await session.shutdown()
    }

    @Test(arguments: [[], [0], Array(repeating: 0xC0, count: 600), Array("<html>".utf8)] as [[UInt8]])
    func garbageIsAnError(_ body: [UInt8]) async throws {
        let dns = try Self.server { _, _ in .init(200, headers: [Self.type], body: Data(body)) }
        let session = try session(dns)
        let error = await expectFailure([.dns]) { try await session.data("http://a.invalid/") }
        guard case .malformed? = error?.underlying as? DNSFailure else {
            Issue.record("\(String(describing: error?.underlying))")
            return
        }
        await session.shutdown()
    }

    @Test func aMessageIsNotLongerThanDNSAllows() async throws {
        let dns = try Self.server { _, _ in .init(200, headers: [Self.type], body: Data(count: 65_536)) }
        let resolver = try DNSOverHTTPS(dns.url("/"))
        await expectFailure([.bodyTooLarge]) { try await resolver.addresses(of: "a.invalid", family: .ipv4) }
    }

    @Test func aServerThatIsGone() async throws {
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS(ClosedPort().url("/dns-query"))
        let session = Session(configuration: configuration)
        let error = await expectFailure([.dns]) { try await session.data("http://a.invalid/") }
        #expect((error?.underlying as? TrellisError)?.kind == .connect && error?.isRetryable == true)
        await session.shutdown()
    }

    /// A server that never responds is awaited for no longer than a connection, and gets no further requests.
    @Test func aSilentServerIsNotAwaited() async throws {
        let dns = try LoopbackServer { connection in connection.waitUntilPeerCloses() }
        let clock = TestClock(), asked = LoopbackServer.Gate(), session = try session(dns, clock: clock)
        let request = Request("http://a.invalid/").withTimeouts(Timeouts(connect: .seconds(10)))
        async let failure = expectTimeout([.connectTimeout], after: .seconds(10), on: clock, in: session, once: asked) {
            try await session.data(request)
        }
        try await dns.waitUntilAccepted(count: 1)
        asked.open()
        _ = try await failure
        try await dns.waitUntilAllClosed()
        await session.shutdown()
    }

    /// One of the two questions fails, and the addresses of the other are used.
    @Test(arguments: [UInt8(1), 28])
    func theAddressesOfOneQuestionAreEnough(_ failing: UInt8) async throws {
        let dns = try Self.server { request, type in
            guard type != failing else { return .init(502) }
            let address: [UInt8] = type == 1 ? [127, 0, 0, 1] : Array(repeating: 0, count: 15) + [1]
            return .init(200, headers: [Self.type], body: Self.message(to: request, [address]))
        }
        let found = try await DNSOverHTTPS(dns.url("/")).addresses(of: "a.invalid", family: .any)
        #expect(found.addresses == [failing == 28 ? "127.0.0.1" : "::1"])
    }

    /// One of the two questions is never answered. The addresses of IPv4 are awaited for a second.
    @Test(arguments: Scale.isFull ? [UInt8(1), 28] : [28])
    func theAddressesOfTheOtherQuestionAreNotAwaitedForEver(_ silent: UInt8) async throws {
        let mayAnswer = DispatchSemaphore(value: 0)
        let dns = try Self.server { request, type in
            if type == silent { mayAnswer.wait() }
            let address: [UInt8] = type == 1 ? [127, 0, 0, 1] : Array(repeating: 0, count: 15) + [1]
            return .init(200, headers: [Self.type], body: Self.message(to: request, [address]))
        }
        defer { mayAnswer.signal() }
        let found = try await DNSOverHTTPS(dns.url("/")).addresses(of: "a.invalid", family: .any)
        #expect(found.addresses == [silent == 28 ? "127.0.0.1" : "::1"])
        #expect(found.timeToLive == .seconds(10))
    }

    /// The resolver outlives the sessions that ask it.
    @Test func theShutdownClosesTheConnections() async throws {
        let (dns, web) = (try Self.server(), try LoopbackServer.http { _ in .text("ok") })
        let resolver = try DNSOverHTTPS(dns.url("/"))
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        configuration.route.addressFamily = .ipv4
        let session = Session(configuration: configuration)
        #expect(try await session.string("http://a.invalid:\(web.port)/") == "ok")
        await session.shutdown()
        #expect(try await resolver.addresses(of: "b.invalid", family: .ipv4).addresses == ["127.0.0.1"])
        #expect(dns.acceptedCount == 1)
        await resolver.shutdown()
        try await dns.waitUntilAllClosed()
        await expectFailure([.cancelled]) { try await resolver.addresses(of: "b.invalid", family: .ipv4) }
        #expect(dns.acceptedCount == 1 && dns.requests.count == 2)
    }

    @Test func whatIsNoNameIsNotAsked() async throws {
        let dns = try Self.server()
        let resolver = try DNSOverHTTPS(dns.url("/"))
        await #expect(throws: DNSFailure.noSuchName) {
            try await resolver.addresses(of: String(repeating: "a", count: 64) + ".invalid", family: .any)
        }
        #expect(dns.acceptedCount == 0)
    }
}
