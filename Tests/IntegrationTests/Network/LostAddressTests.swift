import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Connections from an address that the machine has lost are not used for further requests. The client's machine is a network
/// namespace, and so is the server's.
@Suite(.timeLimit(.minutes(2)), .requiresPeers, .requiresNamespaces, .returningThreads)
struct LostAddressTests {
    private enum Scheme: String { case http, https }

    private let machine: TestMachine
    private let events = ConnectionEvents()

    init() throws {
        machine = try TestMachine()
        try machine.ip("address add 198.51.100.2/24 dev cable0")
    }

    private func server() async throws -> Peer {
        try await Peer.started("other_machine.py", machine.other, "198.51.100.1").value
    }

    private func session(of peer: Peer, follows: Bool = true) async -> Session {
        await machine.session { configuration in
            configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
            configuration.followsNetworkChanges = follows
            configuration.eventMonitors = [events]
            // A request on a dead connection fails with this limit.
            configuration.timeouts.total = .seconds(60)
        }
    }

    private func url(_ peer: Peer, _ scheme: String, _ path: String = "/") throws -> String {
        try peer.url(scheme, path, scheme: scheme, host: "198.51.100.1")
    }

    /// Replaces the machine's address by another one.
    private func move() throws {
        // The other network is not a part of the first one for the kernel, which would remove both at once.
        try machine.ip("address add 198.51.100.3/25 dev cable0")
        try machine.ip("address del 198.51.100.2/24 dev cable0")
    }

    private struct Nothing: Decodable {}

    @Test(arguments: ["http", "https"])
    func anIdleConnectionIsReplaced(_ scheme: String) async throws {
        let peer = try await server(), session = await session(of: peer)
        for _ in 1...2 { #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 1") }
        try move()
        try await machine.waitUntilClosed(from: "198.51.100.2")
        for _ in 1...2 { #expect(try await session.string(url(peer, scheme)) == "198.51.100.3 2") }
        await session.shutdown()
    }

    /// A connection whose address the machine has not lost is used further, although the machine has lost another one.
    @Test(arguments: ["http", "https"])
    func otherConnectionsStay(_ scheme: String) async throws {
        let peer = try await server(), session = await session(of: peer)
        try machine.ip("address add 203.0.113.3/24 dev cable0")
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 1")
        try machine.ip("address del 203.0.113.3/24 dev cable0")
        try machine.ip("link set lo down")
        await TestMachine.settle(session)
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 1")
        await session.shutdown()
    }

    /// A request in progress is not ended, because its address may return. Other requests do not use its connection meanwhile, and
    /// none uses it afterwards.
    @Test(arguments: ["http", "https"])
    func aRequestInProgressContinues(_ scheme: String) async throws {
        let peer = try await server(), session = await session(of: peer)
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 1")
        async let held = session.string(url(peer, scheme, "/held"))
        while await session.liveRequestCount == 0, !Task.isCancelled { await Task.yield() }
        await TestMachine.settle(session)
        try move()
        await TestMachine.settle(session)
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.3 2")
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        _ = try await peer.answer(Nothing.self, to: "answer")
        #expect(try await held == "198.51.100.2 1")
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.3 2")
        await session.shutdown()
    }

    /// The request in progress is the only one, so that its connection is the next request's choice if it is not retired.
    @Test(arguments: ["http", "https"], [true, false])
    func theConnectionOfARequestThatEndsIsReplaced(_ scheme: String, _ follows: Bool) async throws {
        let peer = try await server(), session = await session(of: peer, follows: follows)
        async let held = session.string(url(peer, scheme, "/held"))
        // A connection that is still in its handshake is not replaced. The peer accepts it before that.
        try await events.wait(for: "sent")
        await TestMachine.settle(session)
        try machine.ip("address del 198.51.100.2/24 dev cable0")
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        await TestMachine.settle(session)
        _ = try await peer.answer(Nothing.self, to: "answer")
        #expect(try await held == "198.51.100.2 1")
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 \(follows ? 2 : 1)")
        await session.shutdown()
    }

    @Test func connectionsStayIfTheSessionDoesNotFollow() async throws {
        let peer = try await server(), session = await session(of: peer, follows: false)
        #expect(try await session.string(url(peer, "http")) == "198.51.100.2 1")
        try machine.ip("address del 198.51.100.2/24 dev cable0")
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        await TestMachine.settle(session)
        #expect(try await session.string(url(peer, "http")) == "198.51.100.2 1")
        await session.shutdown()
    }

    /// If the kernel has dropped notifications because there were too many, the connections are compared with all addresses.
    @Test(arguments: ["http", "https"])
    func notificationsAreLost(_ scheme: String) async throws {
        let peer = try await server(), session = await session(of: peer)
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.2 1")
        let (blocked, gate) = (LoopbackServer.Gate(), DispatchedWait())
        let blockade = Task(executorPreference: session.executor) {
            blocked.open()
            gate.wait()
        }
        try await blocked.opened()
        try machine.ip(
            lines: (0..<1000).flatMap { number in
                ["add", "del"].map { "address \($0) 10.0.\(number / 250).\(number % 250 + 1)/32 dev cable0" }
            })
        try move()
        gate.end()
        await blockade.value
        try await machine.waitUntilClosed(from: "198.51.100.2")
        #expect(try await session.string(url(peer, scheme)) == "198.51.100.3 2")
        await session.shutdown()
    }
}
