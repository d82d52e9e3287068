import Glibc
import Testing

@testable import TrellisTesting

@Suite struct LoopbackSocketTests {
    /// A program that a test starts would keep the connection open.
    @Test func noProgramInheritsAConnection() throws {
        let (listener, port) = try LoopbackSocket.listen(on: .ipv4)
        let client = try LoopbackSocket.connecting(to: SocketName(host: "127.0.0.1", port: port))
        let server = try #require(try listener.accept())
        for socket in [listener, client, server] { #expect(fcntl(socket.descriptor, F_GETFD) == FD_CLOEXEC) }
    }
}
