import CurlEngine

/// A server for tests on the loopback interface, which writes exactly the bytes that its script writes.
///
/// A script runs for every connection, on its own thread with blocking calls, so that it reads from top to bottom like the exchange:
///
/// ```swift
/// let server = try LoopbackServer { connection in
///     try connection.readRequest()
///     try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
///     connection.reset()
/// }
/// await #expect(throws: TrellisError.self) { try await session.data(server.url("/")) }
/// ```
///
/// A script uses the methods of ``Connection``. For well-formed responses by path there are ``http(on:storesBodies:faults:clock:_:)`` and
/// ``https(on:tls:storesBodies:faults:clock:_:)``. When a script returns or throws, its side of the connection ends, and the peer's end is
/// awaited: ``openCount`` counts the connections that the *client* still holds. ``errors`` keeps what scripts throw, except an
/// ``Interruption``.
///
/// A test waits for a count (``waitUntilClosed(count:)``, ``waitUntilAccepted(count:)``, ``waitUntilRequested(count:)``); the server waits
/// for the test at a ``Gate``. ``stop()``, which `deinit` calls too, interrupts every script and joins every thread.
public final class LoopbackServer: Sendable {
    /// The script of a connection, from its first byte to its last.
    public typealias Script = @Sendable (Connection) throws -> Void

    /// The address that a server listens on. Ports are chosen by the kernel.
    public enum Address: Sendable, Hashable {
        /// The IPv4 address 127.0.0.1.
        case ipv4
        /// The IPv6 address ::1.
        case ipv6
        /// A Unix-domain socket; a file already at the path is replaced.
        case unix(path: String)
        /// A Unix-domain socket in the abstract namespace of Linux. The name is without its leading zero byte.
        case abstract(name: String)
    }

    /// The address that the server listens on.
    public let address: Address

    /// The port, or 0 on a Unix-domain socket.
    public let port: Int

    /// The authority that has issued the certificate of the server; `nil` if the server does not use TLS.
    public let authority: TestAuthority?

    let listener: Listener
    let schedule: FaultSchedule
    /// The port that takes no connections; `nil` if no fault needs one.
    private let silentPort: SilentPort?

    /// Starts to listen, and runs the script once for each connection.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - tls: The settings of TLS, whose handshake precedes the script; `nil`, the default, for plain TCP.
    ///   - script: The script of each connection. Runs on the connection's own thread and may block there.
    /// - Throws: ``SystemError`` when the system refuses; ``TLSUnavailable``.
    public convenience init(on address: Address = .ipv4, tls: TLS? = nil, script: @escaping Script) throws {
        try self.init(on: address, tls: tls, faults: []) { connection, _ in try script(connection) }
    }

    /// Starts to listen, and runs the script once for each connection, after the faults that precede its first request.
    init(
        on address: Address, tls: TLS?, faults: FaultPlan, clock: TestClock? = nil,
        script: @escaping @Sendable (Connection, FaultSchedule) throws -> Void
    ) throws {
        try faults.check(on: address, hasTLS: tls != nil)
        let identities = try tls.map(Identities.init)
        let (socket, port) = try LoopbackSocket.listen(on: address)
        let schedule = FaultSchedule(faults, clock: clock)
        (self.address, self.port, self.schedule, authority) = (address, port, schedule, tls?.authority)
        silentPort = faults.needsSilentPort ? try SilentPort(port) : nil
        listener = Listener(socket: socket) { connection in
            if let identities { connection.tls = try ConnectionTLS(identities, on: connection, schedule) }
            try script(connection, schedule)
        }
        try listener.start()
    }

    deinit { stop() }

    /// Ends everything: interrupts the scripts, closes every socket, joins every thread. Waits until that is done, so that no
    /// thread and no descriptor of this server is left. A script that computes forever without using its connection cannot be
    /// interrupted.
    public func stop() { listener.stop() }

    /// Returns the URL of a path on this server, such as `http://127.0.0.1:40123/users`. On a Unix-domain socket the host is
    /// `localhost`.
    ///
    /// - Parameters:
    ///   - path: The path and query.
    ///   - host: Another host than the literal address, such as `api.example.com`. A session reaches the server by such a name with
    ///     ``sessionConfiguration(_:)``.
    ///   - scheme: The scheme; `nil`, the default, for `https` if the server uses TLS, and else `http`.
    public func url(_ path: String = "/", host: String? = nil, scheme: String? = nil) -> String {
        let scheme = scheme ?? (authority == nil ? "http" : "https")
        return switch address {
        case .ipv4: "\(scheme)://\(host ?? "127.0.0.1"):\(port)\(path)"
        case .ipv6: "\(scheme)://\(host ?? "[::1]"):\(port)\(path)"
        case .unix, .abstract: "\(scheme)://\(host ?? "localhost")\(path)"
        }
    }

    // MARK: Records

    /// The number of connections accepted so far.
    public var acceptedCount: Int { listener.record.value.accepted }

    /// The number of connections that neither side has closed.
    public var openCount: Int {
        let record = listener.record.value
        return record.accepted - record.closed
    }

    /// The number of connections that have ended, by either side.
    public var closedCount: Int { listener.record.value.closed }

    /// The number of connections that the peer closed or reset while the server still held them.
    public var closedByPeerCount: Int { listener.record.value.closedByPeer }

    /// The requests read so far, from all connections, in order of arrival of their heads. A body appears when its last
    /// byte was read.
    public var requests: [ReceivedRequest] { listener.record.value.requests }

    /// The errors that scripts threw, except ``Interruption``.
    public var errors: [any Error] { listener.record.value.errors }

    /// OpenSSL's words for the TLS handshakes that failed, for example because the client did not trust the certificate.
    public var handshakeFailures: [String] { listener.record.value.handshakeFailures }

    /// The faults that have begun, in order.
    public var faults: [Fault] { schedule.begun.value }

    /// Waits until `count` faults, counted from the start, have begun.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilFaults(count: Int) async throws { try await schedule.begun.wait { $0.count >= count } }

    /// The number of head and body bytes that the kernel took from all scripts so far: while a client applies backpressure, the
    /// number stands still.
    public var bytesWritten: Int { listener.bytesWritten.withLock { $0 } }

    /// Waits until this many connections, counted from the start, have ended.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilClosed(count: Int) async throws {
        try await listener.record.wait { $0.closed >= count }
    }

    /// Waits until every connection accepted so far has ended.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilAllClosed() async throws {
        try await listener.record.wait { $0.closed == $0.accepted }
    }

    /// Waits until this many connections were accepted.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilAccepted(count: Int) async throws {
        try await listener.record.wait { $0.accepted >= count }
    }

    /// Waits until this many request heads were read.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilRequested(count: Int) async throws {
        try await listener.record.wait { $0.requests.count >= count }
    }
}

extension LoopbackServer {
    /// The reason why a blocking call of a script ended without its result. Let the error pass: the server ends the connection.
    public enum Interruption: Error, Sendable, Hashable {
        /// The peer closed or reset the connection.
        case closedByPeer
        /// The script closed the connection itself before.
        case closedByScript
        /// The server was stopped.
        case stopped
    }

    /// An error of the operating system.
    public struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The system call.
        public let call: String
        /// The `errno` of the call.
        public let code: Int32

        /// A description with the call and its `errno`.
        public var description: String { "\(call) failed with errno \(code)" }
    }
}
