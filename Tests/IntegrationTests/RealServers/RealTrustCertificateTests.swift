import Foundation
import Testing
import Trellis

/// nginx and `openssl s_server` show certificates that break a rule, and get no request.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealTrustCertificateTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let rule: UntrustedCertificate.Rule
        let words: String
        var testDescription: String { name }
        var url: String { "https://\(name).example/page" }
        /// The subject of the certificate.
        var subject: String { name == "common-name" ? "CN=common-name.example" : "CN=\(name)" }

        init(_ name: String, _ rule: UntrustedCertificate.Rule, _ words: String) {
            (self.name, self.rule, self.words) = (name, rule, words)
        }
    }

    private static let past = Date(timeIntervalSince1970: 1_577_934_245)
    private static let future = Date(timeIntervalSince1970: 3_787_009_445)

    static let rows = [
        Row("expired", .expired(since: past), "expired on 2020-01-02T03:04:05Z"),
        Row("not-yet", .notYetValid(until: future), "not valid before 2090-01-02T03:04:05Z"),
        Row("wrong-host", .wrongHost("wrong-host.example", names: ["else.example", "*.else.example"]), "else.example"),
        Row("client-usage", .wrongPurpose, "not for this purpose"),
        Row("self-signed", .selfSigned, "self-signed"),
        Row("no-intermediate", .unknownIssuer, "an intermediate certificate may be missing"),
        Row("common-name", .wrongHost("common-name.example", names: []), "no subject alternative name"),
        Row("constrained", .nameConstraint, "may not issue certificates for this name"),
        Row("weak-key", .weak, "too weak"),
        Row("sha1", .weak, "too weak"),
    ]

    private let server: RealTLSServer

    init() async throws { server = try await RealTLSServer.started.value }

    private func isRefused(
        _ row: Row, on session: Session, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let error = try #require(
            await expectFailure([.untrusted], sourceLocation) { try await session.data(row.url) },
            sourceLocation: sourceLocation)
        let certificate = try #require(error.untrusted, sourceLocation: sourceLocation)
        #expect(certificate.rule == row.rule, sourceLocation: sourceLocation)
        #expect(certificate.depth == 0 && certificate.subject == row.subject, sourceLocation: sourceLocation)
        #expect(error.description.contains(row.words), "\(error)", sourceLocation: sourceLocation)
        #expect(error.description.contains(row.subject), "\(error)", sourceLocation: sourceLocation)
        #expect(!error.isRetryable && !error.mayHaveSentBytes, sourceLocation: sourceLocation)
        #expect(error.attemptCount == 1 && error.phase == .connecting, sourceLocation: sourceLocation)
    }

    @Test(arguments: rows)
    func nginxGetsNoRequest(_ row: Row) async throws {
        let session = try server.session()
        try await isRefused(row, on: session)
        // nginx handles requests one after the other: one before this would be in the log before it.
        let mark = "/after-\(row.name)"
        #expect(try await session.string("https://good.example\(mark)").hasPrefix("TLSv1.3 "))
        await session.shutdown()
        let requests = try await server.requests(upTo: mark)
        #expect(requests.contains("good.example \(mark)"))
        #expect(!requests.contains("\(row.name).example /page"))
    }

    @Test(arguments: rows)
    func opensslGetsNoRequest(_ row: Row) async throws {
        let run = try await server.serve(row.name, "-cipher ALL:@SECLEVEL=0")
        let session = try server.session(port: run.port)
        try await isRefused(row, on: session)
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 0, requests: 0))
    }

    /// Without a broken rule, the request is in the log of each server.
    @Test func aGoodCertificateIsTrusted() async throws {
        let run = try await server.serve("good", "-cipher ALL:@SECLEVEL=0")
        let session = try server.session(port: run.port)
        #expect(try await session.string("https://good.example/page") == "real")
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 1, requests: 1))
    }

    /// The same certificates, without verification: the servers have them, and would respond.
    @Test(arguments: rows)
    func aSessionWithoutVerificationGetsAResponse(_ row: Row) async throws {
        // The lowest security level allows weak keys and signatures.
        let session = try server.session {
            $0.tls = .insecureWithoutAnyVerification()
            $0.tls.cipherList = "ALL:@SECLEVEL=0"
        }
        let mark = "/insecure-\(row.name)"
        #expect(try await session.string("https://\(row.name).example\(mark)").hasPrefix("TLSv1.3 "))
        await session.shutdown()
        let requests = try await server.requests(upTo: mark)
        #expect(requests.contains("\(row.name).example \(mark)"))
    }
}
