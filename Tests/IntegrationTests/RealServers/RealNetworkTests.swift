import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The machine changes its network while requests go to caddy, which is on another machine. Both machines are network namespaces.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requiresNamespaces, .returningThreads, .requires("caddy"))
struct RealNetworkTests {
    private static var hasHTTP3: ConditionTrait {
        .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3")
    }
    /// The version of the requests that follow the first one.
    /// The versions of requests before the service is known and afterwards, as caddy writes them.
    private static let first = RunningLibcurl.usualVersion == .http2 ? "HTTP/2.0" : "HTTP/1.1"
    private static let later = RunningLibcurl.hasHTTP3 ? "HTTP/3.0" : first

    private let machine: TestMachine
    private let peer: Peer

    init() async throws {
        machine = try TestMachine()
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        try machine.ip("route add default via 198.51.100.1")
        peer = try await Peer.startedOnce("other_caddy.py", [machine.other, "198.51.100.1"])
    }

    private func session(_ change: @Sendable (inout SessionConfiguration) -> Void) async -> Session {
        await machine.session { configuration in
            configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
            // A request on a dead connection fails with this limit.
            configuration.timeouts.total = .seconds(60)
            change(&configuration)
        }
    }

    private func url(_ name: String) throws -> String { try peer.url(name, host: "198.51.100.1") }

    /// Replaces the machine's address by another one, as a machine does that joins another network.
    private func move() throws {
        // The other network is not a part of the first one for the kernel, which would remove both at once.
        try machine.ip("address add 198.51.100.3/25 dev cable0")
        try machine.ip("address del 198.51.100.2/24 dev cable0")
    }

    /// Expects the address of the client and the version of HTTP as caddy sees them. Returns whether the connection was used before.
    @discardableResult
    private func expect(
        _ text: String, _ session: Session, _ request: Request, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Bool {
        let (data, response) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == text, sourceLocation: sourceLocation)
        return response.metrics.isReusedConnection
    }

    // MARK: Alternative services

    /// The HTTP/3 that caddy has named is forgotten with the network, unless caddy has said that it persists (RFC 7838, section 2.2).
    @Test func aServiceOfTheOldNetworkIsForgotten() async throws {
        let (reachability, store) = (machine.reachability, AlternativeServiceStore())
        let session = await session { configuration in
            configuration.reachability = reachability
            configuration.alternativeServices = store
        }
        // The session knows the state of the network when a later observer does.
        var statuses = reachability.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        let (volatile, persisting) = (Request(try url("caddy")), Request(try url("persisting")))
        for request in [volatile, persisting] {
            try await expect("198.51.100.2 \(Self.first)", session, request)
            #expect(await store.services(for: request.url).map(\.protocolID) == ["h3"])
            try await expect("198.51.100.2 \(Self.later)", session, request)
        }

        try move()
        // The last change, so that no other one is noticed later.
        try machine.ip("route del default")
        while let status = await statuses.next(), status != .notReachable {}
        while await !store.services(for: volatile.url).isEmpty {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(await store.services(for: persisting.url).map(\.protocolID) == ["h3"])
        await TestMachine.settle(session)
        try await expect("198.51.100.3 \(Self.later)", session, persisting)
        // The service is learned again in the new network.
        try await expect("198.51.100.3 \(Self.first)", session, volatile)
        try await expect("198.51.100.3 \(Self.later)", session, volatile)
        await session.shutdown()
    }

    /// A change of a container's link is no change of the way to other networks.
    @Test func aServiceIsKeptIfAnotherLinkChanges() async throws {
        let (monitor, store) = (NetworkMonitor(inside: { [machine] in machine.inside($0) }), AlternativeServiceStore())
        let session = await session { configuration in
            configuration.reachability = NetworkReachability(monitor)
            configuration.alternativeServices = store
        }
        let (changes, continuation) = AsyncStream<Void>.makeStream()
        let observation = monitor.observe { (_: NetworkState?) in continuation.yield() }
        var states = changes.makeAsyncIterator()
        _ = await states.next()
        let request = Request(try url("caddy"))
        try await expect("198.51.100.2 \(Self.first)", session, request)
        try machine.ip(lines: [
            "link add container0 type veth peer name container1", "address add 172.17.0.1/16 dev container0",
        ])
        _ = await states.next()
        try await expect("198.51.100.2 \(Self.later)", session, request)
        #expect(await store.services(for: request.url).map(\.protocolID) == ["h3"])
        observation.end()
        await session.shutdown()
    }

    // MARK: Connections of HTTP/3

    /// The connection is dead with its address. A request that must not be repeated is not sent there.
    @Test(hasHTTP3) func aDeadConnectionIsReplaced() async throws {
        let session = await session { $0.httpVersion = .http3Only }
        let (get, post) = (Request(try url("caddy")), Request(try url("caddy"), method: .post))
        try await expect("198.51.100.2 HTTP/3.0", session, get)
        #expect(try await expect("198.51.100.2 HTTP/3.0", session, get))
        try move()
        await TestMachine.settle(session)
        let isReused = try await expect("198.51.100.3 HTTP/3.0", session, post)
        #expect(!isReused)
        #expect(try await expect("198.51.100.3 HTTP/3.0", session, post))
        await session.shutdown()
    }

    /// The address is lost, and returns at once: the connection is retired unless the session does not follow the network.
    @Test(hasHTTP3, arguments: [true, false])
    func aConnectionIsRetiredWithItsAddress(_ follows: Bool) async throws {
        let session = await session { configuration in
            configuration.httpVersion = .http3Only
            configuration.followsNetworkChanges = follows
        }
        let request = Request(try url("caddy"))
        try await expect("198.51.100.2 HTTP/3.0", session, request)
        try machine.ip("address del 198.51.100.2/24 dev cable0")
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        await TestMachine.settle(session)
        let isReused = try await expect("198.51.100.2 HTTP/3.0", session, request)
        #expect(isReused == !follows)
        await session.shutdown()
    }
}
