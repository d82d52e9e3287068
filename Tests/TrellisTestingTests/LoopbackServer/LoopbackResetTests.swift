import Glibc
import Testing
import Trellis

@testable import TrellisTesting

/// A reset of the connection to a client that does not read.
@Suite(.timeLimit(.minutes(3)))
struct LoopbackResetTests {
    /// The client's kernel never gets all bytes, for which the server does not wait without end.
    @Test func aResetReachesAClientThatDoesNotRead() async throws {
        let server = try LoopbackServer { connection in
            connection.limitSendBuffer(to: 1 << 20)
            try connection.write(Array(repeating: 7, count: 180_000))
            connection.waitUntilReceived()
            connection.reset()
        }
        let client = try LoopbackSocket.connecting(to: SocketName(host: "127.0.0.1", port: server.port))
        try await server.waitUntilClosed(count: 1)
        let error = #expect(throws: LoopbackServer.SystemError.self) {
            while try !client.receive(upTo: 64 << 10).isEmpty {}
        }
        #expect(error?.code == ECONNRESET)
        client.close()
    }
}
