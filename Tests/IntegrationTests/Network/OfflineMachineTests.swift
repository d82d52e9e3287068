import CurlEngine
import Testing
import Trellis
import TrellisTesting

/// A request is made on a machine without a network, and sent when the network is there.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requiresNamespaces, .returningThreads)
struct OfflineMachineTests {
    @Test func theRequestIsSentWhenTheNetworkIsThere() async throws {
        let machine = try TestMachine()
        let peer = try await Peer.started("other_machine.py", machine.other, "198.51.100.1").value
        let (reachability, isAway) = (machine.reachability, LoopbackServer.Gate())
        let session = await machine.session { configuration in
            configuration.steps.intercept(
                with: OfflineRetrier {
                    // The network comes after this look: a retrier that finds one does not wait.
                    guard await reachability.status == .notReachable else { return false }
                    isAway.open()
                    return (try? await reachability.waitUntilReachable()) != nil
                })
        }
        let url = try peer.url("http", scheme: "http", host: "198.51.100.1")
        async let text = session.string(Request(url, method: .post))
        try await isAway.opened()
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        try machine.ip("route add default via 198.51.100.1")
        #expect(try await text == "198.51.100.2 1")
        await session.shutdown()
    }

    /// A status is no reason to refuse a request: a host in the own network is reached without a default route.
    @Test func noRequestIsRefusedWithoutADefaultRoute() async throws {
        let machine = try TestMachine()
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        let peer = try await Peer.started("other_machine.py", machine.other, "198.51.100.1").value
        let session = await machine.session { configuration in
            configuration.reachability = machine.reachability
            configuration.steps.intercept(with: OfflineRetrier(maximumWait: .seconds(3600), machine.reachability))
        }
        #expect(await machine.reachability.status == .notReachable)
        let url = try peer.url("http", scheme: "http", host: "198.51.100.1")
        #expect(try await session.string(url) == "198.51.100.2 1")
        await session.shutdown()
    }
}
