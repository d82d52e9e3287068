import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// A server with a certificate of its own authority is trusted by those sessions that know the authority, if the certificate is valid.
@Suite(.timeLimit(.minutes(3)))
struct LoopbackTLSTests {
    private static func server(_ tls: LoopbackServer.TLS? = nil) throws -> LoopbackServer {
        try LoopbackServer.https(tls: tls) { request in .text("\(request.method) \(request.body.count)") }
    }

    /// Creates a session that trusts the server, and that reaches it under the name `localhost` too: at an address of the other family,
    /// another process may listen on the same port.
    private static func session(_ server: LoopbackServer, _ family: AddressFamily) -> Session {
        var configuration = server.sessionConfiguration()
        configuration.route.addressFamily = family
        return Session(configuration: configuration)
    }

    /// Expects a certificate that is not trusted, and returns the rule that it breaks.
    private static func rule(
        of server: LoopbackServer, _ configuration: SessionConfiguration, host: String? = nil
    ) async throws -> UntrustedCertificate.Rule? {
        let session = Session(configuration: configuration)
        let error = await #expect(throws: TrellisError.self) { try await session.data(server.url("/", host: host)) }
        await session.shutdown()
        #expect(error?.mayHaveSentBytes == false)
        try await server.waitUntilAllClosed()
        #expect(server.requests.isEmpty && server.handshakeFailures.count == 1)
        guard case .securityFailed(.untrusted(let certificate)) = error?.reason else { return nil }
        return certificate.rule
    }

    @Test(arguments: [nil, "localhost"])
    func aSessionThatKnowsTheAuthorityTrustsTheServer(_ host: String?) async throws {
        let server = try Self.server()
        let session = Self.session(server, .ipv4)
        #expect(try await session.string(server.url("/", host: host)) == "GET 0")
        let (data, _) = try await session.upload(Data(count: 300_000), to: server.url("/", host: host))
        #expect(String(decoding: data, as: UTF8.self) == "POST 300000")
        #expect(server.acceptedCount == 1)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.closedByPeerCount == 1 && server.errors.isEmpty && server.handshakeFailures.isEmpty)
    }

    @Test func anIPv6AddressIsInTheCertificate() async throws {
        let server = try LoopbackServer.https(on: .ipv6) { _ in .text("six") }
        let session = Self.session(server, .ipv6)
        #expect(try await session.string(server.url()) == "six")
        #expect(try await session.string(server.url("/", host: "localhost")) == "six")
        await session.shutdown()
    }

    @Test func aLargeBodyIsEncrypted() async throws {
        let body = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let server = try LoopbackServer.https { _ in .init(200, body: body) }
        let session = Session(configuration: server.sessionConfiguration())
        #expect(try await session.data(server.url()).0 == body)
        await session.shutdown()
    }

    @Test func givenNamesAreInTheCertificate() async throws {
        let server = try Self.server(.init(names: ["api.example.com", "*.wild.example"]))
        let session = Session(configuration: server.sessionConfiguration())
        for host in ["api.example.com", "a.wild.example"] {
            #expect(try await session.string(server.url("/", host: host)) == "GET 0")
        }
        await session.shutdown()
        let rule = try await Self.rule(of: Self.server(), server.sessionConfiguration(), host: nil)
        #expect(rule != nil)
    }

    @Test func aNameThatIsNotInTheCertificateIsNotTrusted() async throws {
        let server = try Self.server(.init(names: ["api.example.com"]))
        let rule = try await Self.rule(of: server, server.sessionConfiguration(), host: "www.example.com")
        #expect(rule == .wrongHost("www.example.com", names: ["localhost", "127.0.0.1", "::1", "api.example.com"]))
    }

    @Test func aSessionThatDoesNotKnowTheAuthorityDoesNotTrustTheServer() async throws {
        let rule = try await Self.rule(of: Self.server(), SessionConfiguration())
        #expect(rule == .unknownIssuer || rule == .unknownAuthority)
    }

    @Test(arguments: CertificateFlaw.allCases)
    func aCertificateWithAFlawIsNotTrusted(_ flaw: CertificateFlaw) async throws {
        let server = try Self.server(.init(flaw: flaw))
        let rule = try #require(try await Self.rule(of: server, server.sessionConfiguration()))
        let isExpected =
            switch (flaw, rule) {
            case (.expired, .expired(since: _?)), (.notYetValid, .notYetValid(until: _?)), (.selfSigned, .selfSigned),
                (.unknownAuthority, .unknownIssuer):
                true
            case (.wrongHost, .wrongHost("127.0.0.1", names: ["elsewhere.example"])): true
            default: false
            }
        #expect(isExpected, "\(flaw): \(rule)")
    }

    @Test func serversMayShareAnAuthority() async throws {
        let authority = try TestAuthority()
        let one = try Self.server(.init(authority: authority)), other = try Self.server(.init(authority: authority))
        var configuration = SessionConfiguration()
        configuration.tls = authority.tlsConfiguration
        let session = Session(configuration: configuration)
        #expect(try await session.string(one.url()) == "GET 0")
        #expect(try await session.string(other.url()) == "GET 0")
        #expect(authority.certificate.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
        await session.shutdown()
    }

    @Test func aNameThatNoCertificateCanHaveIsRefused() {
        #expect(throws: LoopbackServer.TLSUnavailable.self) { try Self.server(.init(names: ["a,DNS:b"])) }
    }

    // MARK: Client certificates

    @Test func aClientWithACertificateIsAccepted() async throws {
        let server = try Self.server(.init(requiresClientCertificate: true))
        var configuration = server.sessionConfiguration()
        configuration.tls.clientIdentity = try #require(server.authority).clientIdentity("worker")
        let session = Session(configuration: configuration)
        #expect(try await session.string(server.url()) == "GET 0")
        await session.shutdown()
    }

    @Test func aClientWithoutACertificateIsRefused() async throws {
        let server = try Self.server(.init(requiresClientCertificate: true))
        let session = Session(configuration: server.sessionConfiguration())
        let error = await #expect(throws: TrellisError.self) { try await session.data(server.url()) }
        #expect(error?.reason == .securityFailed(.clientIdentity(.required)))
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.requests.isEmpty && !server.handshakeFailures.isEmpty)
    }

    @Test func aClientOfAnotherAuthorityIsRefused() async throws {
        let server = try Self.server(.init(requiresClientCertificate: true))
        var configuration = server.sessionConfiguration()
        configuration.tls.clientIdentity = try TestAuthority().clientIdentity()
        let session = Session(configuration: configuration)
        let error = await #expect(throws: TrellisError.self) { try await session.data(server.url()) }
        #expect(error?.kind == .tls)
        await session.shutdown()
        #expect(server.requests.isEmpty)
    }

    // MARK: The end of a connection

    @Test func anAnnouncedEndIsTheEndOfABodyWithoutALength() async throws {
        let server = try LoopbackServer.https { _ in
            .init(
                body: .raw { connection in
                    try connection.write("HTTP/1.1 200 OK\r\n\r\nall of it")
                    connection.shutdownWrite(notifying: true)
                })
        }
        let session = Session(configuration: server.sessionConfiguration())
        #expect(try await session.string(server.url()) == "all of it")
        await session.shutdown()
    }

    @Test func aScriptRunsOverTLS() async throws {
        let server = try LoopbackServer(tls: .init()) { connection in
            let request = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.path.utf8.count)\r\n\r\n\(request.path)")
        }
        #expect(server.url("/a").hasPrefix("https://127.0.0.1:"))
        let session = Session(configuration: server.sessionConfiguration())
        #expect(try await session.string(server.url("/path")) == "/path")
        await session.shutdown()
    }

    @Test func stoppingInterruptsAHandshake() async throws {
        let server = try Self.server()
        let other = try FaultProxy(to: server, toxics: [.byteLimit(50, of: .upstream)])
        let session = Session(configuration: server.sessionConfiguration())
        let error = await #expect(throws: TrellisError.self) { try await session.data(other.url(scheme: "https")) }
        #expect(error?.kind == .tls)
        // The client may know of the failure before the server has accepted the connection.
        while server.handshakeFailures.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(server.handshakeFailures.count == 1)
        server.stop()
        await session.shutdown()
    }
}
