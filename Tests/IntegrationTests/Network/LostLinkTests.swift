import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis

/// Connections from the addresses of a link that has lost its carrier, or was shut down, are not used for further requests. The client's
/// machine is a network namespace, and so is the server's.
@Suite(.timeLimit(.minutes(2)), .requiresPeers, .requiresNamespaces, .returningThreads)
struct LostLinkTests {
    /// The ways of losing a link whose addresses stay.
    enum Loss: String, CaseIterable {
        /// The other end of the cable is shut down.
        case carrier
        /// The own end is shut down.
        case link
    }

    private let machine: TestMachine

    init() throws {
        machine = try TestMachine()
        try machine.ip("address add 198.51.100.2/24 dev cable0")
    }

    private func set(_ loss: Loss, _ state: String) throws {
        switch loss {
        case .carrier: try machine.ipOfOther("link set cable0 \(state)")
        case .link: try machine.ip("link set cable0 \(state)")
        }
    }

    private func server() async throws -> Peer {
        try await Peer.started("other_machine.py", machine.other, "198.51.100.1").value
    }

    private func session(of peer: Peer, follows: Bool = true) async -> Session {
        await machine.session { configuration in
            configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
            configuration.followsNetworkChanges = follows
            configuration.timeouts.total = .seconds(30)
        }
    }

    private func url(_ peer: Peer, _ scheme: String) throws -> String {
        try peer.url(scheme, "/", scheme: scheme, host: "198.51.100.1")
    }

    /// The schemes, each with the ways of losing the link: all of them if time does not matter, because the kernel takes a second to notice
    /// that a link has come back.
    private static let cases: [(String, Loss)] =
        Scale.isFull
        ? ["http", "https"].flatMap { scheme in Loss.allCases.map { (scheme, $0) } }
        : [("http", .carrier), ("https", .link)]

    /// The number of losses. The second time, the link has come back in the meantime.
    private static let rounds = Scale.isFull ? 2 : 1

    @Test(arguments: cases)
    func anIdleConnectionIsReplaced(_ scheme: String, _ loss: Loss) async throws {
        let peer = try await server(), session = await session(of: peer)
        for number in 1...Self.rounds {
            for _ in 1...2 { #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 \(number)") }
            try set(loss, "down")
            try await machine.waitUntilClosed(from: "198.51.100.2")
            try set(loss, "up")
        }
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 \(Self.rounds + 1)")
        await session.shutdown()
    }

    @Test func connectionsStayIfTheSessionDoesNotFollow() async throws {
        let peer = try await server(), session = await session(of: peer, follows: false)
        #expect(try await session.string(url(peer, "http")) == "198.51.100.2 1")
        try set(.carrier, "down")
        try set(.carrier, "up")
        await TestMachine.settle(session)
        #expect(try await session.string(url(peer, "http")) == "198.51.100.2 1")
        await session.shutdown()
    }

    /// Only connections from the addresses of the lost link are retired. Both connections use the same cable.
    @Test(arguments: ["http", "https"])
    func connectionsFromOtherLinksStay(_ scheme: String) async throws {
        try machine.ip(lines: [
            "link add container0 type veth peer name container1", "address add 203.0.113.3/32 dev container0",
            "link set container0 up", "link set container1 up",
        ])
        try machine.ipOfOther("route add 203.0.113.3/32 via 198.51.100.2")
        let peer = try await server(), session = await session(of: peer)
        var route = Route()
        route.source = try .address("203.0.113.3")
        let plain = Request(try url(peer, scheme)), ofContainer = plain.withRoute(route)
        #expect(try await session.string(plain) == "198.51.100.2 1")
        for _ in 1...2 { #expect(try await session.string(ofContainer) == "203.0.113.3 2") }
        try machine.ip("link set container1 down")
        try await machine.waitUntilClosed(from: "203.0.113.3")
        #expect(try await session.string(plain) == "198.51.100.2 1")
        #expect(try await session.string(ofContainer) == "203.0.113.3 3")
        await session.shutdown()
    }
}
