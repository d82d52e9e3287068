import CurlEngine
import Foundation
import Glibc
import Synchronization
import Testing
import Trellis
import TrellisTesting

/// A machine with a network of its own for one test: a network namespace, joined to a second one by a cable. Both are removed with
/// the value.
///
/// The cable is `cable0` here, without an address at first, and `cable0` with the address 198.51.100.1/24 on the other machine.
final class TestMachine: Sendable {
    /// Whether namespaces can be made here, which needs root and iproute2. In CI they are expected.
    static let isAvailable =
        ProcessInfo.processInfo.environment["CI"] == "true" || (try? TestMachine()) != nil

    /// A command that has failed.
    struct Failure: Error {
        let command: [String]
    }

    private static let count = Atomic(0)

    /// The name of the machine's namespace.
    let name: String
    /// The name of the other machine's namespace.
    let other: String

    init() throws {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        (name, other) = ("trellis-\(getpid())-\(number)", "trellis-\(getpid())-\(number)-other")
        try Self.run(["ip", "netns", "add", name])
        try Self.run(["ip", "netns", "add", other])
        try ip("link add cable0 type veth peer name cable0 netns \(other)")
        try Self.run(["ip", "-n", other, "address", "add", "198.51.100.1/24", "dev", "cable0"])
        for namespace in [name, other] {
            for link in ["lo", "cable0"] { try Self.run(["ip", "-n", namespace, "link", "set", link, "up"]) }
        }
    }

    deinit { for name in [name, other] { _ = try? Self.run(["ip", "netns", "delete", name]) } }

    /// Changes the machine's network with a command of `ip`.
    func ip(_ command: String) throws {
        try Self.run(["ip", "-n", name] + command.split(separator: " ").map(String.init))
    }

    /// Changes the machine's network with several commands of `ip`, in one process.
    func ip(lines: [String]) throws {
        let folder = try Folder()
        folder.write(Data(lines.joined(separator: "\n").utf8), to: "batch")
        try Self.run(["ip", "-n", name, "-batch", folder("batch")])
    }

    /// Changes the network of the other machine with a command of `ip`.
    func ipOfOther(_ command: String) throws {
        try Self.run(["ip", "-n", other] + command.split(separator: " ").map(String.init))
    }

    /// Joins the machine to the network of the other one, which is at 198.51.100.1.
    func join() throws {
        try ip("address add 198.51.100.2/24 dev cable0")
        try ip("route add default via 198.51.100.1")
    }

    /// Waits until the machine has no open connection from an address.
    func waitUntilClosed(from address: String) async throws {
        let command = ["ip", "netns", "exec", name, "ss", "-Htn", "state", "established", "src", address]
        while try !Self.run(command).isEmpty { try Task.checkCancellation() }
    }

    @discardableResult
    private static func run(_ command: [String]) throws -> String {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(command: command) }
        return String(decoding: data, as: UTF8.self)
    }

    // MARK: Threads

    /// Runs `body` on the calling thread inside of the machine's network.
    func inside(_ body: () -> Void) {
        let before = unsafe open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        enter()
        body()
        if before >= 0 {
            Self.enter(before)
            close(before)
        }
    }

    /// Moves the calling thread to the machine's network.
    private func enter() {
        let own = unsafe open("/run/netns/\(name)", O_RDONLY | O_CLOEXEC)
        guard own >= 0 else { return }
        Self.enter(own)
        close(own)
    }

    /// Moves the calling thread to a network namespace with `setns`, which Glibc's module map leaves out.
    private static func enter(_ namespace: CInt) {
        guard let address = unsafe dlsym(nil, "setns") else { return }
        let setns = unsafe unsafeBitCast(address, to: (@convention(c) (CInt, CInt) -> CInt).self)
        _ = setns(namespace, 0x4000_0000)  // CLONE_NEWNET
    }

    private var monitor: NetworkMonitor { NetworkMonitor(inside: { self.inside($0) }) }

    /// The reachability on this machine.
    var reachability: NetworkReachability { NetworkReachability(monitor) }

    /// Returns a retrier that waits for this machine's network, and opens a gate when it waits.
    func offlineRetrier(_ isWaiting: LoopbackServer.Gate) -> OfflineRetrier {
        OfflineRetrier(
            maximumWait: .seconds(3600), NetworkReachability(source: AwaitedNetwork(monitor, isAwaited: isWaiting)))
    }

    /// Returns a session on this machine.
    ///
    /// - Parameter clock: The clock of the session; `nil` for the system's.
    func session(
        clock: TestClock? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(1)
        change(&configuration)
        let session =
            clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
        // The sockets of an engine are made on its thread.
        await Task(executorPreference: session.executor) { self.enter() }.value
        return session
    }

    /// Returns after the engine of a session has handled everything that had happened before.
    static func settle(_ session: Session) async {
        // The sockets are handled between two jobs.
        for _ in 0..<2 { await Task(executorPreference: session.executor) {}.value }
    }
}

/// A network that tells when somebody waits for it.
private struct AwaitedNetwork: NetworkStatusSource {
    private let monitor: NetworkMonitor
    private let isAwaited: LoopbackServer.Gate

    init(_ monitor: NetworkMonitor, isAwaited: LoopbackServer.Gate) {
        (self.monitor, self.isAwaited) = (monitor, isAwaited)
    }

    var status: NetworkReachability.Status { get async { await monitor.status } }

    func observe(
        _ body: @escaping @Sendable (NetworkReachability.Status) -> Void
    ) -> NetworkObservation {
        defer { isAwaited.open() }
        return monitor.observe(body)
    }

    func observeUplinks(_ body: @escaping @Sendable () -> Void) -> NetworkObservation {
        monitor.observeUplinks(body)
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test only if network namespaces can be made.
    static var requiresNamespaces: Self {
        .enabled(if: TestMachine.isAvailable, "needs root and iproute2 for network namespaces")
    }
}
