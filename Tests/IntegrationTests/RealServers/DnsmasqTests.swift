import Testing
import Trellis
import TrellisTesting

/// The answers of dnsmasq, as its bytes come, behind a server of DNS over HTTPS (RFC 8484).
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("dnsmasq"))
struct DnsmasqTests {
    private static let peer = Peer.started("dnsmasq.py")

    private func resolver(_ path: String = "/known") async throws -> DNSOverHTTPS {
        try DNSOverHTTPS(await Self.peer.value.url("doh", path, scheme: "http"))
    }

    private func addresses(_ name: String, _ family: AddressFamily) async throws -> ResolvedAddresses {
        try await resolver().addresses(of: name, family: family)
    }

    @Test func addressesOfBothKindsWithTheirTime() async throws {
        var both = try await addresses("both.example", .any)
        // The addresses of IPv6 are awaited only for a moment after those of IPv4.
        while both.addresses.count < 2 {
            try Task.checkCancellation()
            both = try await addresses("both.example", .any)
        }
        #expect(Set(both.addresses) == ["192.0.2.7", "2001:db8::7"] && both.timeToLive == .seconds(300))
        #expect(try await addresses("both.example", .ipv4).addresses == ["192.0.2.7"])
        #expect(try await addresses("Both.Example", .ipv6).addresses == ["2001:db8::7"])
    }

    /// The answer has two aliases and two addresses, with compressed names (RFC 1035, section 4.1.4).
    @Test func anAlias() async throws {
        let answer = try await addresses("www.example", .ipv4)
        #expect(Set(answer.addresses) == ["192.0.2.3", "192.0.2.4"])
        #expect(answer.timeToLive <= .seconds(60))
    }

    @Test func namesThatAreNotThere() async throws {
        await #expect(throws: DNSFailure.noSuchName) { try await addresses("none.example", .any) }
        #expect(try await addresses("v4.example", .ipv6).addresses.isEmpty)
    }

    /// Without a server for other names, dnsmasq refuses (RFC 1035, section 4.1.1).
    @Test func aRefusal() async throws {
        let resolver = try await resolver("/refusing")
        await #expect(throws: DNSFailure.refused(code: 5)) {
            try await resolver.addresses(of: "trellis.test", family: .ipv4)
        }
    }

    @Test func aRequestToAnAddressOfDnsmasq() async throws {
        let target = try LoopbackServer.http { _ in .text("hello") }
        var configuration = SessionConfiguration()
        configuration.resolver = try await resolver()
        let session = Session(configuration: configuration)
        let (data, response) = try await session.data("http://a.local.example:\(target.port)/")
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        #expect(response.metrics.peerAddress == "127.0.0.1:\(target.port)")
        await session.shutdown()
    }
}
