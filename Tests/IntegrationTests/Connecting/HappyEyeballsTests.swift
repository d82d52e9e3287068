import Foundation
import Glibc
import Testing
import Trellis
import TrellisTesting

/// A host has an IPv6 address to which nothing gets through, and an IPv4 address that works (RFC 8305).
@Suite(
    .timeLimit(.minutes(3)), .returningThreads,
    .enabled(if: NetworkNamespace.isExpected, "needs root, for a network namespace"))
struct HappyEyeballsTests {
    /// A device that loses every packet for its neighbour, so that no connection is made, and none is refused.
    private static let commands = [
        "ip link set lo up", "ip link add near type veth peer name far", "ip link set near up", "ip link set far up",
        "ip -6 addr add 2001:db8::1/64 dev near nodad",
        "ip -6 neigh add 2001:db8::2 lladdr 02:00:00:00:00:02 dev near",
    ]

    private static let dead = "connecting [2001:db8::2]"
    private static let alive = "connecting 127.0.0.1"

    /// Returns the course of a request: the connections that were begun, in order, and then the peer and the text of the response, or the
    /// kind of the error. Ports are left out.
    ///
    /// The limit on connecting is on a clock, which stands still, or reaches the limit once the connection has begun.
    private static func outcome(
        addresses: String, _ family: AddressFamily, reachesLimit: Bool = false
    ) async throws -> [String] {
        try await NetworkNamespace.run(commands) {
            let server = try LoopbackServer.http { _ in .text("alive") }
            var configuration = SessionConfiguration()
            configuration.route.addresses = try StaticAddresses("both.invalid:*:\(addresses)")
            configuration.route.addressFamily = family
            let events = ConnectionEvents()
            configuration.eventMonitors = [events]
            let clock = TestClock()
            let session = Session(configuration: configuration, clock: clock)
            let request = Request("http://both.invalid:\(server.port)/").withTimeouts(Timeouts(connect: .seconds(10)))
            if reachesLimit {
                Task {
                    try await events.wait(for: "\(dead):\(server.port)")
                    clock.move(by: .seconds(10))
                }
            }
            return Task.immediate {
                let text: String
                do {
                    let (data, response) = try await session.data(request)
                    text = "\(response.metrics.peerAddress ?? "-") \(String(decoding: data, as: UTF8.self))"
                } catch let error as TrellisError {
                    text = error.kind.rawValue
                }
                await session.shutdown()
                server.stop()
                let begun = events.words.filter { $0.hasPrefix("connecting ") }
                return (begun + [text]).map { $0.replacing(":\(server.port)", with: "") }
            }
        }
    }

    @Test(arguments: ["2001:db8::2,127.0.0.1", "127.0.0.1,2001:db8::2"])
    func aDeadIPv6DoesNotStopARequest(_ addresses: String) async throws {
        let outcome = try await Self.outcome(addresses: addresses, .any)
        let both = [Self.dead, Self.alive, "127.0.0.1 alive"]
        // An IPv4 address that comes first may be connected before the other one is tried.
        let expected = addresses.hasPrefix("127") ? [both, Array(both.dropFirst())] : [both]
        #expect(expected.contains(outcome), "\(outcome)")
    }

    /// Without IPv4, the address is dead indeed.
    @Test func theIPv6AddressIsDead() async throws {
        let outcome = try await Self.outcome(addresses: "2001:db8::2,127.0.0.1", .ipv6, reachesLimit: true)
        #expect(outcome == [Self.dead, TrellisError.Kind.connectTimeout.rawValue])
    }

    @Test func withoutIPv6ItIsNotTried() async throws {
        let outcome = try await Self.outcome(addresses: "2001:db8::2,127.0.0.1", .ipv4)
        #expect(outcome == [Self.alive, "127.0.0.1 alive"])
    }

    // MARK: Names

    /// dnsmasq knows both addresses of the name, the machine's own resolver is asked, and the connection to IPv6 dies. The test has a process
    /// of its own, whose threads for lookups begin in the namespace.
    @Test(.enabled(if: Peer.isInstalled("dnsmasq"), "needs dnsmasq"))
    func aNameWithADeadIPv6() async throws {
        await #expect(processExitsWith: .success) {
            let outcome = try await Self.outcomeOfAName()
            guard outcome != "127.0.0.1 alive" else { return }
            print(outcome)
            exit(EXIT_FAILURE)
        }
    }

    private static func outcomeOfAName() async throws -> String {
        let folder = try Folder()
        let file = folder("resolv.conf")
        folder.write(Data("nameserver 127.0.0.1\noptions timeout:60 attempts:1\n".utf8), to: "resolv.conf")
        let addresses = ["2001:db8::2", "127.0.0.1"].map { "--address=/both.example/\($0)" }.joined(separator: " ")
        let server = "dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --user=root"
        let commands = [
            "mount --make-rprivate /", "mount --bind \(file) /etc/resolv.conf",
            "\(server) --listen-address=127.0.0.1 --bind-interfaces --pid-file=\(folder("pid")) \(addresses)",
        ]
        defer { _ = unsafe system("kill $(cat \(folder("pid")))") }
        return try await NetworkNamespace.run(Self.commands + commands, hasOwnFiles: true) {
            let server = try LoopbackServer.http { _ in .text("alive") }
            let session = Session()
            let request = Request("http://both.example:\(server.port)/")
            return Task.immediate {
                let (data, response) = try await session.data(request)
                await session.shutdown()
                server.stop()
                let peer = response.metrics.peerAddress?.replacing(":\(server.port)", with: "") ?? "-"
                return "\(peer) \(String(decoding: data, as: UTF8.self))"
            }
        }
    }
}
