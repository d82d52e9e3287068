import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Files of certificates change while nginx still works on a request, which ends on its connection.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealLineReloadTests {
    private static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    private let server: RealTLSServer
    /// The end of the wait of the server behind nginx.
    private let gate = LoopbackServer.Gate()
    /// The server behind nginx, which waits with its responses.
    private let upstream: LoopbackServer

    init() async throws {
        server = try await RealTLSServer.started.value
        upstream = try LoopbackServer { [gate] connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: gate)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
            }
        }
    }

    /// Returns the subject of the client and the number of the connection, as nginx has them for a slow response.
    private func client(of answer: (data: Data, response: Response)) throws -> String {
        #expect(String(decoding: answer.data, as: UTF8.self) == "slow")
        let name = try #require(HTTPField.Name("X-Client"))
        return try #require(answer.response.headers[name])
    }

    @Test(arguments: versions)
    func aNewIdentityWhileARequestIsInFlight(_ version: HTTPVersionPolicy) async throws {
        let files = try server.clientFiles(in: temporaryFolder("line-identity-\(UUID().uuidString)"))
        let session = try server.reloadingSession { $0.clientIdentity = files.identity }
        let first = try await session.string(RealTLSServer.request("mutual", version))
        #expect(first.hasPrefix("CN=ada "))
        async let slow = session.data(RealTLSServer.request("mutual", version, "/to/\(upstream.port)/slow"))
        try await upstream.waitUntilRequested(count: 1)
        try server.copy("berta.chain", to: files.certificate)
        try server.copy("berta.key", to: files.key)
        // New requests share a new connection.
        let second = try await server.string(session, RealTLSServer.request("mutual", version), after: "CN=ada ")
        #expect(second.hasPrefix("CN=berta "))
        #expect(try await session.string(RealTLSServer.request("mutual", version)) == second)
        gate.open()
        // The request in flight has ended on the connection of the first one.
        let answer = try await slow
        #expect(try client(of: answer) == first)
        #expect(try await session.string(RealTLSServer.request("mutual", version)) == second)
        await session.shutdown()
    }

    @Test(arguments: versions)
    func newAuthoritiesWhileARequestIsInFlight(_ version: HTTPVersionPolicy) async throws {
        let path = try temporaryFolder("line-authorities-\(UUID().uuidString)") + "/ca.pem"
        try server.copy("root.pem", to: path)
        let session = try server.reloadingSession { $0.authorities = .only([.file(path)]) }
        async let slow = session.data(RealTLSServer.request("good", version, "/to/\(upstream.port)/slow"))
        try await upstream.waitUntilRequested(count: 1)
        try server.copy("second.pem", to: path)
        try await server.becomesTrusted(session, RealTLSServer.request("other", version))
        // The authority of the connection in use is not trusted for new requests.
        let error = await expectFailure([.untrusted]) { try await session.data(RealTLSServer.request("good", version)) }
        #expect(error?.untrusted?.rule == .unknownIssuer && error?.mayHaveSentBytes == false, "\(error as Any)")
        gate.open()
        let answer = try await slow
        let client = try client(of: answer).trimmingCharacters(in: .whitespaces)
        #expect(Int(client) != nil, "no subject, and a connection: \(client)")
        let later = await expectFailure([.untrusted]) { try await session.data(RealTLSServer.request("good", version)) }
        #expect(later != nil)
        await session.shutdown()
    }
}
