import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The reachability follows the network of a machine, which is a network namespace.
@Suite(.timeLimit(.minutes(2)), .requiresNamespaces, .returningThreads)
struct ReachabilityTests {
    private let machine: TestMachine

    init() throws { machine = try TestMachine() }

    /// Expects the statuses after each of some changes, from a sequence and as a value.
    private func expect(_ changes: [(commands: [String], status: NetworkReachability.Status)]) async throws {
        let reachability = machine.reachability
        var statuses = reachability.statuses.makeAsyncIterator()
        for (commands, status) in changes {
            for command in commands { try machine.ip(command) }
            #expect(await statuses.next() == status, "\(commands)")
            #expect(await reachability.status == status, "\(commands)")
        }
        // Without a reader there is no thread, so that this reads the network again.
        #expect(await machine.reachability.status == changes.last?.status)
    }

    @Test func theDefaultRouteComesAndGoes() async throws {
        try await expect([
            ([], .notReachable),
            (
                ["address add 198.51.100.2/24 dev cable0", "route add default via 198.51.100.1"],
                .reachable(.ethernetOrWiFi)
            ),
            (["route del default"], .notReachable),
            (
                ["-6 address add 2001:db8::2/64 dev cable0 nodad", "-6 route add default via 2001:db8::1"],
                .reachable(.ethernetOrWiFi)
            ),
            (["-6 route del default"], .notReachable),
        ])
    }

    /// The kernel removes the routes that an address or a link takes along, and does not report that.
    @Test func anAddressAndALinkTakeTheirRoutesAlong() async throws {
        let route = ["address add 198.51.100.2/24 dev cable0", "route add default via 198.51.100.1"]
        try await expect([
            ([], .notReachable), (route, .reachable(.ethernetOrWiFi)),
            (["address del 198.51.100.2/24 dev cable0"], .notReachable), (route, .reachable(.ethernetOrWiFi)),
            (["link set cable0 down"], .notReachable),
            (["link set cable0 up", "route add default via 198.51.100.1"], .reachable(.ethernetOrWiFi)),
            (["link del cable0"], .notReachable),
        ])
    }

    @Test func theCableIsPulled() async throws {
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        try machine.ip("route add default via 198.51.100.1")
        try await machine.reachability.waitUntilReachable()
        try await expect([
            ([], .reachable(.ethernetOrWiFi)),
            (["netns exec \(machine.other) ip link set cable0 down"], .notReachable),
            (["netns exec \(machine.other) ip link set cable0 up"], .reachable(.ethernetOrWiFi)),
        ])
    }

    /// The commands that add a link with the name of a modem.
    private static let modem = [
        "link add wwan0 type veth peer name tower0", "link set tower0 up", "link set wwan0 up",
    ]

    @Test func aModemIsUsedWhereNothingBetterIs() async throws {
        try await expect([
            ([], .notReachable),
            (
                Self.modem + ["route add default dev wwan0 metric 700"],
                .reachable(.cellular)
            ),
            (
                ["address add 198.51.100.2/24 dev cable0", "route add default via 198.51.100.1 metric 100"],
                .reachable(.ethernetOrWiFi)
            ),
            (["link set cable0 down"], .reachable(.cellular)),
        ])
    }

    @Test(arguments: ["blackhole", "unreachable", "prohibit"])
    func aRouteThatLeadsNowhere(_ kind: String) async throws {
        try machine.ip("route add \(kind) default")
        #expect(await machine.reachability.status == .notReachable)
    }

    @Test func allThatWaitAreResumedByTheDefaultRoute() async throws {
        let reachability = machine.reachability
        var statuses = reachability.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .notReachable)
        let tasks = (0..<20).map { _ in Task { try await reachability.waitUntilReachable() } }
        let cancelled = Task { try await reachability.waitUntilReachable() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        try machine.ip("route add default via 198.51.100.1")
        for task in tasks { try await task.value }
    }

    /// If the kernel has dropped notifications because there were too many, the state is read again.
    @Test func notificationsAreLost() async throws {
        let (blocked, gate) = (LoopbackServer.Gate(), DispatchedWait())
        let monitor = NetworkMonitor(inside: { [machine] in machine.inside($0) })
        let first = Locked(true)
        let blockade = monitor.observe { (_: NetworkState?) in
            guard
                first.withLock({ first in
                    defer { first = false }; return first
                })
            else { return }
            blocked.open()
            gate.wait()
        }
        try await blocked.opened()
        // Routes to single networks mean nothing by themselves.
        let routes = (0..<2000).flatMap { number in
            ["add", "del"].map { "route \($0) blackhole 10.\(number / 250).\(number % 250).0/24" }
        }
        try machine.ip(lines: routes)
        for command in Self.modem + ["route add default dev wwan0"] { try machine.ip(command) }
        gate.end()
        try await NetworkReachability(monitor).waitUntilReachable()
        blockade.end()
    }

    /// Changes of a container's link are no change of the way to other networks.
    @Test func onlyUplinksMatterToSome() async throws {
        try machine.ip("address add 198.51.100.2/24 dev cable0")
        try machine.ip("route add default via 198.51.100.1")
        try await machine.reachability.waitUntilReachable()
        let count = Locked(0)
        let monitor = NetworkMonitor(inside: { [machine] in machine.inside($0) })
        let observation = monitor.observeUplinks { count.withLock { $0 += 1 } }
        let (changes, continuation) = AsyncStream<Bool>.makeStream()
        let all = monitor.observe { (state: NetworkState?) in continuation.yield(state?.reach == .ethernetOrWiFi) }
        var states = changes.makeAsyncIterator()
        #expect(await states.next() == true)
        try machine.ip(lines: [
            "link add container0 type veth peer name container1", "address add 172.17.0.1/16 dev container0",
        ])
        #expect(await states.next() == true)
        #expect(count.withLock { $0 } == 0)
        try machine.ip("route del default")
        while await states.next() == true {}
        #expect(count.withLock { $0 } == 1)
        observation.end()
        all.end()
    }
}
