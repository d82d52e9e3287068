import CurlEngine

/// A server for tests on the loopback interface, which writes exactly the bytes that its script writes.
///
/// A script runs for every connection, on a thread of its own with blocking calls, so that the script reads from top to bottom
/// like the exchange on the connection:
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
/// A script uses the methods of ``Connection``; for well-formed responses by path there is ``http(on:storesBodies:_:)``. A script
/// that returns ends its side of the connection and waits for the peer to end the other, so that ``openCount`` counts the
/// connections that the *client* still holds. A script that throws does the same; its error is kept in ``errors``, unless the
/// error only says that the peer or the server went away (``Interruption``).
///
/// The server neither sleeps nor polls. A test waits for the server by awaiting a count (``waitUntilClosed(count:)``,
/// ``waitUntilAccepted(count:)``, ``waitUntilRequested(count:)``); the server waits for the test at a ``Gate``. ``stop()``, which
/// `deinit` calls too, interrupts every script and joins every thread.
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

    private let listener: Listener

    /// Starts to listen, and runs the script once for each connection.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - script: The script of each connection. Runs on the connection's own thread and may block there.
    /// - Throws: ``SystemError`` when the system refuses.
    public init(on address: Address = .ipv4, script: @escaping Script) throws {
        self.address = address
        let (socket, port) = try LoopbackSocket.listen(on: address)
        self.port = port
        listener = Listener(socket: socket, script: script)
        try listener.start()
    }

    deinit { stop() }

    /// Ends everything: interrupts the scripts, closes every socket, joins every thread. Waits until that is done, so that no
    /// thread and no descriptor of this server is left. A script that computes forever without using its connection cannot be
    /// interrupted.
    public func stop() { listener.stop() }

    /// Returns the URL of a path on this server, such as `http://127.0.0.1:40123/users`. On a Unix-domain socket the host is
    /// `localhost`.
    public func url(_ path: String = "/", scheme: String = "http") -> String {
        switch address {
        case .ipv4: "\(scheme)://127.0.0.1:\(port)\(path)"
        case .ipv6: "\(scheme)://[::1]:\(port)\(path)"
        case .unix, .abstract: "\(scheme)://localhost\(path)"
        }
    }

    // MARK: Records

    /// The number of connections accepted so far.
    public var acceptedCount: Int { listener.record.value.accepted }

    /// The number of connections that neither side has closed.
    public var openCount: Int { listener.record.value.accepted - listener.record.value.closed }

    /// The number of connections that have ended, by either side.
    public var closedCount: Int { listener.record.value.closed }

    /// The number of connections that the peer closed or reset while the server still held them.
    public var closedByPeerCount: Int { listener.record.value.closedByPeer }

    /// The requests read so far, from all connections, in order of arrival of their heads. A body appears when its last
    /// byte was read.
    public var requests: [ReceivedRequest] { listener.record.value.requests }

    /// The errors that scripts threw, except ``Interruption``.
    public var errors: [any Error] { listener.record.value.errors }

    /// The number of head and body bytes that the kernel took from all scripts so far: while a client applies backpressure, the
    /// number stands still.
    public var bytesWritten: Int { listener.bytesWritten.withLock { $0 } }

    /// Waits until this many connections, counted from the start, have ended.
    public func waitUntilClosed(count: Int) async throws {
        try await listener.record.wait { $0.closed >= count }
    }

    /// Waits until every connection accepted so far has ended.
    public func waitUntilAllClosed() async throws {
        try await listener.record.wait { $0.closed == $0.accepted }
    }

    /// Waits until this many connections were accepted.
    public func waitUntilAccepted(count: Int) async throws {
        try await listener.record.wait { $0.accepted >= count }
    }

    /// Waits until this many request heads were read.
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
