import Foundation
import Testing
import Trellis
import TrellisTesting

/// The rules of trust hold over HTTP/3 with caddy, if the running libcurl supports HTTP/3. caddy sends requests on to a server that has
/// received none from a session that does not trust it.
@Suite(
    .timeLimit(.minutes(3)), .requiresPeers, .requires("caddy"),
    .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3"))
struct RealTrustOverHTTP3Tests {
    private static let started = Peer.started("caddy_trust.py")

    private let peer: Peer
    private let web: LoopbackServer

    init() async throws {
        peer = try await Self.started.value
        web = try LoopbackServer.http { _ in .text("real") }
    }

    /// Returns the path of a file of the peer.
    private func path(_ name: String) -> String {
        URL(filePath: peer.announcement.ca).deletingLastPathComponent().appending(path: name).path
    }

    private func url(_ host: String) -> String { "https://\(host).example/to/\(web.port)/page" }

    /// Returns a session whose connections to any host are made to caddy, and which trusts the authority of `good` alone.
    private func session(
        _ policy: HTTPVersionPolicy = .http3Only, _ change: (inout TLSConfiguration) throws -> Void = { _ in }
    ) throws -> Session {
        let port = try #require(peer.announcement.ports["caddy"])
        var configuration = SessionConfiguration()
        configuration.httpVersion = policy
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.route.connectTo = [try ConnectTo(targetHost: "127.0.0.1", targetPort: port)]
        try change(&configuration.tls)
        return Session(configuration: configuration)
    }

    /// Requires a response of the server behind caddy, over a version of HTTP if one is given.
    private func answers(
        _ host: String, _ session: Session, _ version: HTTPVersion? = .http3,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (data, response) = try await session.data(url(host))
        #expect(String(decoding: data, as: UTF8.self) == "real", sourceLocation: sourceLocation)
        if let version { #expect(response.version == version, sourceLocation: sourceLocation) }
    }

    /// Requires that the host is not trusted. Returns the certificate.
    private func isRefused(
        _ host: String, _ session: Session, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UntrustedCertificate {
        let count = web.requests.count
        let error = try #require(
            await expectFailure([.untrusted], sourceLocation) { try await session.data(url(host)) },
            sourceLocation: sourceLocation)
        #expect(!error.isRetryable && !error.mayHaveSentBytes, "\(error)", sourceLocation: sourceLocation)
        #expect(web.requests.count == count, sourceLocation: sourceLocation)
        return try #require(error.untrusted, sourceLocation: sourceLocation)
    }

    // MARK: Authorities

    /// Sets of authorities, and whether `good` and `other` are trusted with them.
    @Test(arguments: [
        ("system", false, false), ("only ca", true, false), ("only second", false, true), ("only both", true, true),
        ("only ca as bytes", true, false), ("system and ca", true, false), ("system and both", true, true),
    ])
    func authorities(_ set: String, _ trustsGood: Bool, _ trustsOther: Bool) async throws {
        let (ca, second) = (CertificateSource.file(path("ca.pem")), CertificateSource.file(path("second.pem")))
        let authorities: CertificateAuthorities =
            switch set {
            case "system": .system
            case "only ca": .only([ca])
            case "only second": .only([second])
            case "only both": .only([ca, second])
            case "only ca as bytes": .only([.bytes(try Data(contentsOf: URL(filePath: path("ca.pem"))))])
            case "system and ca": .systemAnd([ca])
            default: .systemAnd([ca, second])
            }
        let session = try session { $0.authorities = authorities }
        for (host, isTrusted) in [("good", trustsGood), ("other", trustsOther)] {
            if isTrusted {
                try await answers(host, session)
            } else {
                let certificate = try await isRefused(host, session)
                #expect(certificate.rule == .unknownIssuer)
            }
        }
        await session.shutdown()
    }

    // MARK: Certificates

    /// The certificates that caddy has too: those with a key and a signature that Go accepts, and a name.
    static let rows = RealTrustCertificateTests.rows.filter {
        !["common-name", "weak-key", "sha1"].contains($0.name)
    }

    /// With the other policy, HTTP/2 is tried too, with the same certificate.
    @Test(arguments: rows, [HTTPVersionPolicy.http3Only, .http3Preferred])
    func aBrokenRuleIsTold(_ row: RealTrustCertificateTests.Row, _ policy: HTTPVersionPolicy) async throws {
        let session = try session(policy)
        let certificate = try await isRefused(row.name, session)
        #expect(certificate.rule == row.rule && certificate.depth == 0)
        #expect(certificate.subject == row.subject)
        // The session has not been harmed.
        try await answers("good", session, policy == .http3Only ? .http3 : nil)
        await session.shutdown()
    }

    @Test func aRevokedCertificate() async throws {
        let revoking = try session { $0.revocationLists = [.file(path("revoking.crl"))] }
        try await answers("good", revoking)
        let certificate = try await isRefused("revoked", revoking)
        #expect(certificate.rule == .revoked && certificate.subject == "CN=revoked")
        await revoking.shutdown()
        let empty = try session { $0.revocationLists = [.file(path("empty.crl"))] }
        try await answers("revoked", empty)
        await empty.shutdown()
    }

    // MARK: Client certificates

    /// The forms in which the certificate and its key are given.
    @Test(arguments: ["PEM", "bytes", "encrypted key", "PKCS#12", "encrypted PKCS#12"])
    func caddyKnowsTheClient(_ form: String) async throws {
        func bytes(_ name: String) throws -> CertificateSource {
            .bytes(try Data(contentsOf: URL(filePath: path(name))))
        }
        let chain = CertificateSource.file(path("client.pem"))
        let secret: @Sendable () async throws -> String = { TrustPeer.passphrase }
        let identity =
            switch form {
            case "PEM": ClientIdentity(certificate: chain, key: .file(path("client.key")))
            case "bytes": ClientIdentity(certificate: try bytes("client.pem"), key: try bytes("client.key"))
            case "encrypted key":
                ClientIdentity(certificate: chain, key: .file(path("encrypted.key")), passphrase: secret)
            case "PKCS#12": ClientIdentity(certificate: .file(path("client.p12")))
            default: ClientIdentity(certificate: .file(path("encrypted.p12")), passphrase: secret)
            }
        let session = try session { $0.clientIdentity = identity }
        for _ in 1...2 { try await answers("mutual", session) }
        await session.shutdown()
    }

    /// Returns the client certificate of a name, which is that of another authority for `foreign`, and none for `nil`.
    private func identity(_ name: String?) -> ClientIdentity? {
        name.map { ClientIdentity(certificate: .file(path("\($0).pem")), key: .file(path("\($0).key"))) }
    }

    /// The handshake ends for the client before caddy examines its certificate, and libcurl does not tell the alert with which the QUIC
    /// connection ends (RFC 9001, section 4.8). The end may come before libcurl has reported the connection as made.
    @Test(arguments: [String?.none, "foreign"])
    func aClientThatCaddyDoesNotKnow(_ name: String?) async throws {
        let session = try session { $0.clientIdentity = identity(name) }
        let error = await expectFailure([.tls, .http3, .receive, .connect]) { try await session.data(url("mutual")) }
        #expect(web.requests.isEmpty, "\(error as Any)")
        try await answers("good", session)
        await session.shutdown()
    }

    /// The same caddy over HTTP/2, where the alert is known.
    @Test(arguments: [String?.none, "foreign"])
    func aClientThatCaddyDoesNotKnowOverHTTP2(_ name: String?) async throws {
        let session = try session(.automatic) { $0.clientIdentity = identity(name) }
        let error = await expectFailure([.tls]) { try await session.data(url("mutual")) }
        if name == nil {
            #expect(error?.identityFailure == .required, "\(error as Any)")
        } else if case .refused(let reason)? = error?.identityFailure {
            #expect(!reason.isEmpty)
        } else {
            Issue.record("\(error as Any)")
        }
        #expect(web.requests.isEmpty)
        await session.shutdown()
    }

    // MARK: Versions of TLS

    /// QUIC has TLS 1.3 and nothing older (RFC 9001, section 4.2).
    @Test(arguments: TLSVersion.allCases)
    func theOldestVersion(_ version: TLSVersion) async throws {
        let session = try session { $0.minimumVersion = version }
        try await answers("good", session)
        await session.shutdown()
    }

    @Test func aSessionWithoutTheVersionOfQUIC() async throws {
        let session = try session { $0.maximumVersion = .v1_2 }
        let error = await expectFailure([.tls]) { try await session.data(url("good")) }
        #expect(error?.mayHaveSentBytes == false, "\(error as Any)")
        #expect(web.requests.isEmpty)
        await session.shutdown()
    }
}
