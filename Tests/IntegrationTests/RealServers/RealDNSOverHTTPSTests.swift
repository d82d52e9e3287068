import Foundation
import Testing
import Trellis
import TrellisTesting

/// unbound serves DNS over HTTPS (RFC 8484) over HTTP/2 and TLS, and logs the questions.
///
/// Serialized, because a test starts unbound again.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers, .requires("unbound"))
struct RealDNSOverHTTPSTests {
    private static let started = Peer.started("unbound.py")

    private let peer: Peer
    /// The settings of the resolver's own session.
    private var own = SessionConfiguration()

    init() async throws {
        peer = try await Self.started.value
        // A second engine would have a connection of its own.
        own.engines = .one
        own.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
    }

    private func resolver(
        _ method: DNSOverHTTPS.Method = .post, path: String = "/dns-query",
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> DNSOverHTTPS {
        var configuration = own
        change(&configuration)
        return try DNSOverHTTPS(peer.url("doh", path), method: method, configuration: configuration)
    }

    private func session(_ resolver: DNSOverHTTPS, _ family: AddressFamily = .any) -> Session {
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        configuration.route.addressFamily = family
        return Session(configuration: configuration)
    }

    /// The questions for a name that unbound has received, which it logs before it responds.
    private func questions(_ name: String) async throws -> [String] {
        let all: [String] = try await peer.answer(to: "log")
        return all.filter { $0.hasPrefix("\(name). ") }
    }

    // MARK: Answers

    @Test(arguments: DNSOverHTTPS.Method.allCases)
    func addressesOfBothKindsWithTheirTime(_ method: DNSOverHTTPS.Method) async throws {
        let resolver = try resolver(method)
        let ipv4 = try await resolver.addresses(of: "both.example", family: .ipv4)
        #expect(ipv4.addresses == ["192.0.2.7"] && ipv4.timeToLive == .seconds(300))
        let ipv6 = try await resolver.addresses(of: "Both.Example", family: .ipv6)
        #expect(ipv6.addresses == ["2001:db8::7"] && ipv6.timeToLive == .seconds(200))
        var both = try await resolver.addresses(of: "both.example", family: .any)
        // The addresses of IPv6 are awaited only for a moment after those of IPv4.
        while both.addresses.count < 2 {
            try Task.checkCancellation()
            both = try await resolver.addresses(of: "both.example", family: .any)
        }
        #expect(both.addresses == ["2001:db8::7", "192.0.2.7"] && both.timeToLive == .seconds(200))
    }

    /// The message is longer than one over UDP may be, and nothing cuts it short.
    @Test(arguments: DNSOverHTTPS.Method.allCases)
    func aHundredAddresses(_ method: DNSOverHTTPS.Method) async throws {
        let found = try await resolver(method).addresses(of: "many.example", family: .ipv6)
        let wanted = (1...100).map { "2001:db8::" + String($0, radix: 16) }
        #expect(found.addresses.count == 100 && Set(found.addresses) == Set(wanted))
        #expect(found.timeToLive == .seconds(60))
    }

    /// A name with addresses of one kind alone exists, and has none of the other.
    @Test func aNameWithoutAddressesOfAKind() async throws {
        let resolver = try resolver()
        #expect(try await resolver.addresses(of: "v4.example", family: .ipv6).addresses.isEmpty)
        #expect(try await resolver.addresses(of: "v6.example", family: .ipv4).addresses.isEmpty)
        #expect(try await resolver.addresses(of: "v4.example", family: .any).addresses == ["192.0.2.1"])
        #expect(try await resolver.addresses(of: "v6.example", family: .any).addresses == ["2001:db8::1"])
    }

    @Test(arguments: DNSOverHTTPS.Method.allCases)
    func aRequestGoesToTheAddress(_ method: DNSOverHTTPS.Method) async throws {
        let web = try LoopbackServer.http { .text($0["Host"] ?? "") }
        let session = try session(resolver(method))
        let host = "\(method.rawValue).kept.example"
        let (data, response) = try await session.data("http://\(host):\(web.port)/")
        #expect(String(decoding: data, as: UTF8.self) == "\(host):\(web.port)")
        #expect(response.metrics.peerAddress == "127.0.0.1:\(web.port)")
        await session.shutdown()
    }

    /// The addresses are kept for 300 seconds, or not at all. The servers have different ports, so that each request needs a connection.
    @Test(arguments: [("kept", 1), ("zero", 2)])
    func addressesAreKeptForTheirTime(_ time: String, _ count: Int) async throws {
        let (first, second) = (try LoopbackServer.http { _ in .text("1") }, try LoopbackServer.http { _ in .text("2") })
        let session = try session(resolver(), .ipv4)
        let name = "time.\(time).example"
        #expect(try await session.string("http://\(name):\(first.port)/") == "1")
        #expect(try await session.string("http://\(name):\(second.port)/") == "2")
        #expect(try await questions(name) == Array(repeating: "\(name). A", count: count))
        await session.shutdown()
    }

    // MARK: Connections

    /// unbound has no other version of HTTP, and one connection for all questions.
    @Test func oneConnectionWithHTTP2() async throws {
        let events = ConnectionEvents()
        let resolver = try resolver { $0.eventMonitors = [events] }
        for number in 1...3 {
            let found = try await resolver.addresses(of: "\(number).kept.example", family: .ipv4)
            #expect(found.addresses == ["127.0.0.1"] && found.timeToLive == .seconds(300))
        }
        while events.connections.count < 3 {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(events.connections.map(\.version) == [.http2, .http2, .http2])
        #expect(events.connections.map(\.isReused) == [false, true, true])
    }

    @Test func manyNamesAtOnce() async throws {
        let resolver = try resolver()
        try await withThrowingTaskGroup(of: [String].self) { group in
            for number in 1...50 {
                group.addTask {
                    try await resolver.addresses(of: "many-\(number).kept.example", family: .ipv4).addresses
                }
            }
            for try await addresses in group { #expect(addresses == ["127.0.0.1"]) }
        }
        let all: [String] = try await peer.answer(to: "log")
        let questions = all.filter { $0.hasPrefix("many-") }
        #expect(questions.count == 50 && Set(questions).count == 50)
    }

    /// The kept connection has ended with unbound.
    @Test(arguments: DNSOverHTTPS.Method.allCases)
    func aServerThatWasStartedAgain(_ method: DNSOverHTTPS.Method) async throws {
        let resolver = try resolver(method)
        #expect(try await resolver.addresses(of: "v4.example", family: .ipv4).addresses == ["192.0.2.1"])
        #expect(try await peer.answer(Bool.self, to: "restart"))
        #expect(try await resolver.addresses(of: "v4.example", family: .ipv4).addresses == ["192.0.2.1"])
    }

    // MARK: Failures

    /// The names that unbound has no addresses for, and why: with codes 3, 5 and 2 (RFC 1035, section 4.1.1).
    static let failures: [(String, DNSFailure)] = [
        ("none.example", .noSuchName), ("a.refused.example", .refused(code: 5)),
        ("a.failing.example", .refused(code: 2)),
    ]

    @Test(arguments: failures)
    func failuresAreTold(_ name: String, _ failure: DNSFailure) async throws {
        let resolver = try resolver()
        for family in [AddressFamily.ipv4, .ipv6, .any] {
            await #expect(throws: failure, "\(family)") { try await resolver.addresses(of: name, family: family) }
        }
        let session = session(resolver)
        let error = await expectFailure([.dns]) { try await session.data("http://\(name)/") }
        #expect(error?.underlying as? DNSFailure == failure && error?.mayHaveSentBytes == false)
        #expect(error?.description.contains("\(name): \(failure)") == true, "\(error as Any)")
        await session.shutdown()
    }

    @Test(arguments: DNSOverHTTPS.Method.allCases)
    func anotherPathIsNotAServer(_ method: DNSOverHTTPS.Method) async throws {
        let resolver = try resolver(method, path: "/other")
        await #expect(throws: DNSFailure.status(404)) {
            try await resolver.addresses(of: "both.example", family: .ipv4)
        }
    }

    /// The server gets no question.
    private func isNotTrusted(
        _ resolver: DNSOverHTTPS, _ name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UntrustedCertificate? {
        let session = session(resolver)
        let error = await expectFailure([.dns], sourceLocation) { try await session.data("http://\(name)/") }
        await session.shutdown()
        let own = error?.underlying as? TrellisError
        #expect(own?.kind == .untrusted, "\(error as Any)", sourceLocation: sourceLocation)
        #expect(own?.mayHaveSentBytes == false, sourceLocation: sourceLocation)
        #expect(try await questions(name).isEmpty, sourceLocation: sourceLocation)
        return own?.untrusted
    }

    @Test func aServerOfAnUnknownAuthority() async throws {
        let resolver = try resolver { $0.tls = TLSConfiguration() }
        let certificate = try await isNotTrusted(resolver, "unknown.kept.example")
        #expect(certificate?.rule == .unknownIssuer)
    }

    /// The host of the URL is not one of the certificate's names. It is not looked up, because it has a bootstrap address.
    @Test func aServerWithAnotherName() async throws {
        let url = try peer.url("doh", "/dns-query", host: "dns.example")
        let resolver = try DNSOverHTTPS(url, bootstrap: ["127.0.0.1"], configuration: own)
        let certificate = try await isNotTrusted(resolver, "other.kept.example")
        guard case .wrongHost("dns.example", _)? = certificate?.rule else {
            Issue.record("\(certificate as Any)")
            return
        }
    }

    @Test func aServerWithItsNameAndABootstrapAddress() async throws {
        let url = try peer.url("doh", "/dns-query{?dns}", host: "localhost")
        let resolver = try DNSOverHTTPS(url, method: .get, bootstrap: ["127.0.0.1"], configuration: own)
        #expect(try await resolver.addresses(of: "v4.example", family: .ipv4).addresses == ["192.0.2.1"])
    }
}
