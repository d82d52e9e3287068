import Glibc

/// A port at another address of this machine that takes no connections: the queue of its listener is full, so that the kernel drops all
/// further attempts, as a firewall does.
final class SilentPort: Sendable {
    /// The address.
    static let address = "127.0.0.3"

    private let sockets: [LoopbackSocket]

    /// Occupies a port.
    init(_ port: Int) throws {
        let listener = try Self.socket()
        try Self.connect(listener, to: port, isListening: true)
        let connection = try Self.socket()
        try Self.connect(connection, to: port, isListening: false)
        sockets = [listener, connection]
    }

    private static func socket() throws -> LoopbackSocket {
        let descriptor = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw LoopbackServer.SystemError("socket") }
        return LoopbackSocket(descriptor)
    }

    /// Makes a socket listen at the address, or connects it with the one that does. The queue has room for one connection.
    private static func connect(_ socket: LoopbackSocket, to port: Int, isListening: Bool) throws {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = in_addr_t(0x7f00_0003).bigEndian
        name.sin_port = in_port_t(port).bigEndian
        let status = unsafe LoopbackSocket.withGenericAddress(&name) { name, length in
            unsafe isListening
                ? Glibc.bind(socket.descriptor, name, length) : Glibc.connect(socket.descriptor, name, length)
        }
        guard status == 0 else { throw LoopbackServer.SystemError(isListening ? "bind" : "connect") }
        if isListening, Glibc.listen(socket.descriptor, 0) != 0 { throw LoopbackServer.SystemError("listen") }
    }
}
