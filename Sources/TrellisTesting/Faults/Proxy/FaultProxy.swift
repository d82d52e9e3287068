import CurlEngine

/// A TCP proxy on 127.0.0.1 in front of any server, which disturbs the connections through it.
///
/// ```swift
/// let proxy = try FaultProxy(to: server, toxics: [.bandwidth(bytesPerSecond: 10_000, of: .downstream)])
/// let text = try await session.string(proxy.url("/"))
/// proxy.toxics = []
/// #expect(proxy.connections[0].sentDownstream > 0)
/// ```
///
/// The proxy does not know the protocol of the connections: TLS and WebSockets pass too. A client that connects to the proxy needs a
/// certificate of the server for the proxy's address, as ``LoopbackServer/https(on:tls:storesBodies:faults:clock:_:)`` has.
///
/// A change of ``toxics`` applies to all bytes that reach the proxy from then on, on open connections too. Bytes that are in the proxy keep
/// the time when they are sent.
///
/// One thread serves all connections, and at most 64 KiB of each direction wait in the proxy. The proxy ends with ``stop()``, which
/// `deinit` calls too.
public final class FaultProxy: Sendable {
    /// The record of a connection.
    public struct Connection: Sendable, Hashable {
        /// The end of a connection.
        public enum End: String, Sendable, Hashable {
            /// The connection is open.
            case none
            /// The client and the server have ended the connection, or a toxic has closed it.
            case closed
            /// The connection was reset by a toxic, by the client or by the server, or the server could not be reached.
            case reset
        }

        /// The number of the connection, counted from 1.
        public let ordinal: Int
        /// The number of bytes that the proxy has received from the client.
        public internal(set) var receivedUpstream = 0
        /// The number of bytes that the proxy has sent to the server.
        public internal(set) var sentUpstream = 0
        /// The number of bytes that the proxy has received from the server.
        public internal(set) var receivedDownstream = 0
        /// The number of bytes that the proxy has sent to the client.
        public internal(set) var sentDownstream = 0
        /// The toxics that disturb the connection now, by their probabilities; after its end, its last ones.
        public internal(set) var toxics: [Toxic] = []
        /// The end of the connection.
        public internal(set) var end = End.none

        init(ordinal: Int) { self.ordinal = ordinal }
    }

    /// The port of the proxy at 127.0.0.1.
    public let port: Int

    private let control: FaultProxyControl
    private let thread: Locked<LoopbackThread?>

    /// Creates a proxy.
    ///
    /// - Parameters:
    ///   - host: The server's name or literal address. A name is looked up once, now.
    ///   - port: The server's port.
    ///   - toxics: The toxics.
    ///   - seed: The seed of the random numbers for probabilities, jitter and sizes: the same numbers for the same seed.
    ///   - maximumConnections: The number of connections that are served at a time. Others wait in the system's queue.
    ///   - clock: The clock of all delays; `nil`, the default, for real time.
    /// - Throws: ``LoopbackServer/SystemError`` when the system refuses, or does not know the name.
    public init(
        to host: String = "127.0.0.1", port: Int, toxics: [Toxic] = [], seed: UInt64 = 0,
        maximumConnections: Int = 256, clock: TestClock? = nil
    ) throws {
        let server = try SocketName(host: host, port: port)
        let (listener, ownPort) = try LoopbackSocket.listen(on: .ipv4)
        listener.setNonBlocking()
        self.port = ownPort
        let control = try FaultProxyControl(toxics: toxics, clock: clock?.engineSide ?? MonotonicClock.system)
        self.control = control
        let thread = try LoopbackThread {
            var loop = FaultProxyLoop(
                listener, to: server, control, seed: seed, maximumConnections: maximumConnections)
            loop.run()
        }
        self.thread = Locked(thread)
    }

    /// Creates a proxy in front of a server on IP.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - toxics: The toxics.
    ///   - seed: The seed of the random numbers for probabilities, jitter and sizes.
    ///   - clock: The clock of all delays; `nil`, the default, for real time.
    /// - Throws: ``LoopbackServer/SystemError`` when the system refuses.
    public convenience init(
        to server: LoopbackServer, toxics: [Toxic] = [], seed: UInt64 = 0, clock: TestClock? = nil
    ) throws {
        let host = server.address == .ipv6 ? "::1" : "127.0.0.1"
        try self.init(to: host, port: server.port, toxics: toxics, seed: seed, clock: clock)
    }

    deinit { stop() }

    /// Ends the proxy: resets its connections, closes its sockets and joins its thread. Waits until that is done.
    public func stop() {
        control.stop()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Returns the URL of a path on the server, through the proxy.
    ///
    /// - Parameters:
    ///   - path: The path and query.
    ///   - scheme: The scheme.
    public func url(_ path: String = "/", scheme: String = "http") -> String { "\(scheme)://127.0.0.1:\(port)\(path)" }

    /// The toxics.
    public var toxics: [Toxic] {
        get { control.toxics.value }
        set { control.replaceToxics(newValue) }
    }

    // MARK: Records

    /// The connections, in the order they were accepted.
    public var connections: [Connection] { control.record.value }

    /// Waits until the records of the connections meet a condition.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(until condition: @escaping @Sendable ([Connection]) -> Bool) async throws {
        try await control.record.wait(until: condition)
    }

    /// Waits until `count` connections, counted from the start, were accepted.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilAccepted(count: Int) async throws { try await wait { $0.count >= count } }

    /// Waits until `count` connections, counted from the start, have ended.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilClosed(count: Int) async throws {
        try await wait { connections in connections.count { $0.end != .none } >= count }
    }
}

/// The part of a proxy that its thread and other threads share.
final class FaultProxyControl: Sendable {
    /// The toxics with their version.
    struct Toxics: Sendable {
        var value: [Toxic]
        var version = 0
    }

    let record = LoopbackServer.Waiters<[FaultProxy.Connection]>([])
    let clock: any EngineClock
    let wake: LoopbackWake
    private let state: Locked<(toxics: Toxics, isStopped: Bool)>

    init(toxics: [Toxic], clock: any EngineClock) throws {
        let wake = try LoopbackWake()
        self.wake = wake
        self.clock = clock
        state = Locked((Toxics(value: toxics), false))
        // The clock keeps the closure, and may outlive the proxy.
        clock.onAdvance { [weak wake] in wake?.signal() }
    }

    var toxics: Toxics { state.withLock { $0.toxics } }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func replaceToxics(_ toxics: [Toxic]) {
        state.withLock { state in
            state.toxics.value = toxics
            state.toxics.version += 1
        }
        wake.signal()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        wake.signal()
    }
}
