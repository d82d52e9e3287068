import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The servers of tests of connections on which protocols were switched.
enum SwitchingServer {
    static let head =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\nSet-Cookie: seen=1\r\n\r\n"

    /// Sends back all bytes.
    static func echo(_ connection: LoopbackServer.Connection) throws {
        while case let bytes = try connection.read(), !bytes.isEmpty { try connection.write(bytes) }
    }

    /// Starts a server that responds to each request with the head of a path, and sends back all bytes after status 101.
    static func start(
        on address: LoopbackServer.Address = .ipv4, _ heads: [String: String] = [:]
    ) throws -> LoopbackServer {
        try LoopbackServer(on: address) { connection in
            while let request = try connection.readHead() {
                if request.method == "CONNECT" {
                    try connection.write("HTTP/1.1 200 Tunnel\r\n\r\n")
                    continue
                }
                let head = heads[request.path] ?? SwitchingServer.head
                try connection.write(head)
                guard head.hasPrefix("HTTP/1.1 101") else { return }
                return try echo(connection)
            }
        }
    }

    /// Sends text, and checks that it comes back.
    static func converse(
        _ connection: any DuplexConnection, _ text: String = "hello", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await connection.write(Data(text.utf8))
        var received = Data()
        while received.count < text.utf8.count, let more = try await connection.read() { received += more }
        #expect(String(decoding: received, as: UTF8.self) == text, sourceLocation: sourceLocation)
    }

    /// Checks that the protocols were switched and the connection works, and closes it.
    static func check(_ answer: ProtocolSwitch, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(answer.response.status.code == 101, sourceLocation: sourceLocation)
        let connection = try #require(answer.connection, sourceLocation: sourceLocation)
        try await converse(connection, sourceLocation: sourceLocation)
        connection.close()
    }
}

extension DuplexConnection {
    /// Adds bytes to those that are sent, and returns when there is room for more.
    func write(_ bytes: Data) async throws {
        if try !send(bytes) { try await waitForRoom() }
    }
}
