import Foundation
import Testing
import Trellis

/// Servers whose certificates break a rule get no request, and the error names the rule and the certificate.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct ServerCertificateTests {
    struct Row: CustomStringConvertible, Sendable {
        let port: String
        let rule: UntrustedCertificate.Rule
        let depth: Int
        let subject: String
        var description: String { port }

        init(_ port: String, _ rule: UntrustedCertificate.Rule, _ depth: Int, _ subject: String) {
            (self.port, self.rule, self.depth, self.subject) = (port, rule, depth, subject)
        }
    }

    private static let past = Date(timeIntervalSince1970: 1_577_934_245)
    private static let future = Date(timeIntervalSince1970: 3_787_009_445)

    @Test(arguments: ["127.0.0.1", "localhost"])
    func aServerThatKeepsTheRulesIsTrusted(_ host: String) async throws {
        #expect(try await TrustPeer.answer(from: "valid", host: host, TrustPeer.tls()).hasPrefix("- "))
    }

    @Test(
        arguments: [
            Row("expired", .expired(since: past), 0, "CN=expired"),
            Row("not-yet", .notYetValid(until: future), 0, "CN=not-yet"),
            Row("expired-issuer", .expired(since: past), 1, "CN=Old Intermediate"),
            Row(
                "wrong-host",
                .wrongHost("127.0.0.1", names: ["other.example", "*.other.example", "192.0.2.1"]), 0, "CN=wrong"),
            Row("self-signed", .selfSigned, 0, "CN=alone"),
            Row("no-intermediate", .unknownIssuer, 0, "CN=valid"),
            Row("unknown-root", .unknownAuthority, 1, "CN=Unknown Root"),
            Row("client-usage", .wrongPurpose, 0, "CN=client"),
            Row("no-san", .wrongHost("127.0.0.1", names: []), 0, "CN=localhost"),
            Row("constrained", .nameConstraint, 0, "CN=outside"),
            Row("weak-key", .weak, 0, "CN=weak"), Row("weaker-key", .weak, 0, "CN=weaker"),
            Row("weak-issuer", .weak, 1, "CN=Weak Intermediate"),
            Row("sha1", .weak, 0, "CN=sha1"), Row("md5", .weak, 0, "CN=md5"),
            Row("sha1-issuer", .weak, 1, "CN=SHA-1 Intermediate"),
        ])
    func aRuleIsBroken(_ row: Row) async throws {
        let host = row.port == "constrained" ? "localhost" : "127.0.0.1"
        let error = try await TrustPeer.failure(.untrusted, from: row.port, host: host, TrustPeer.tls())
        let certificate = try #require(error.untrusted)
        #expect(certificate.rule == row.rule)
        #expect(certificate.depth == row.depth && certificate.subject == row.subject && !certificate.isOfProxy)
        #expect(certificate.issuer?.isEmpty == false)
        #expect(!error.mayHaveSentBytes && error.phase == .connecting)
        #expect(error.description.contains(row.subject), "\(error)")
    }

    /// The certificate of a server issues no others.
    @Test func aServerIsNoIssuer() async throws {
        let error = try await TrustPeer.failure(.untrusted, from: "not-an-issuer", TrustPeer.tls())
        #expect([.wrongPurpose, .unknownIssuer].contains(error.untrusted?.rule), "\(error)")
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func aCommonNameAloneIsNotSufficient(_ host: String) async throws {
        let error = try await TrustPeer.failure(.untrusted, from: "no-san", host: host, TrustPeer.tls())
        #expect(error.untrusted?.rule == .wrongHost(host, names: []))
        #expect(error.description.contains("no subject alternative name"))
    }

    @Test func theDatesAreInTheDescription() async throws {
        let error = try await TrustPeer.failure(.untrusted, from: "expired", TrustPeer.tls())
        #expect(error.description.contains("expired on 2020-01-02T03:04:05Z"), "\(error)")
    }

    // MARK: Authorities

    @Test func theSystemsAuthoritiesAloneDoNotTrustThePeer() async throws {
        let error = try await TrustPeer.failure(.untrusted, from: "valid", TLSConfiguration())
        #expect(error.untrusted?.rule == .unknownIssuer && error.untrusted?.depth == 1, "\(error)")
    }

    @Test func authoritiesAreTrustedBesidesTheSystems() async throws {
        let first = try await TrustPeer.file("ca.pem"), second = try await TrustPeer.file("second.pem")
        let text = try String(contentsOfFile: second, encoding: .utf8)
        for authorities: CertificateAuthorities in [
            .systemAnd([.file(first), .file(second)]), .only([.file(first), .pem(text)]),
        ] {
            let tls = TLSConfiguration(authorities: authorities)
            for port in ["valid", "second"] {
                #expect(try await TrustPeer.answer(from: port, tls).hasPrefix("- "), "\(authorities)")
            }
        }
        let error = try await TrustPeer.failure(.untrusted, from: "second", TrustPeer.tls())
        #expect(error.untrusted?.subject == "CN=second")
    }

    @Test(arguments: ["/nonexistent/ca.pem", "/etc/hostname", "/etc", "", "a\0b"])
    func aFileOfAuthoritiesThatCannotBeUsed(_ path: String) async throws {
        for authorities: CertificateAuthorities in [.only([.file(path)]), .systemAnd([.file(path)])] {
            let error = try await TrustPeer.failure(.file, from: "valid", TLSConfiguration(authorities: authorities))
            #expect(!error.mayHaveSentBytes)
        }
    }

    @Test func withoutAnyAuthorityNothingIsTrusted() async throws {
        _ = try await TrustPeer.failure(.file, from: "valid", TLSConfiguration(authorities: .only([])))
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        let tls = TLSConfiguration(authorities: .only([.pem(broken)]))
        let error = try await TrustPeer.failure(.file, from: "valid", tls)
        #expect(error.description.contains("malformed"), "\(error)")
    }

    // MARK: Revocation

    @Test func revocationLists() async throws {
        var tls = try await TrustPeer.tls()
        #expect(try await TrustPeer.answer(from: "revoked", tls).hasPrefix("- "))
        tls.revocationLists = [.file(try await TrustPeer.file("revoking.crl"))]
        #expect(try await TrustPeer.answer(from: "valid", tls).hasPrefix("- "))
        let error = try await TrustPeer.failure(.untrusted, from: "revoked", tls)
        #expect(error.untrusted?.rule == .revoked && error.untrusted?.subject == "CN=revoked", "\(error)")
        // The lists do not cover this authority.
        tls.authorities = .only([.file(try await TrustPeer.file("second.pem"))])
        let uncovered = try await TrustPeer.failure(.untrusted, from: "second", tls)
        #expect(uncovered.untrusted?.rule == .unknownRevocation, "\(uncovered)")
    }

    @Test func aRevocationListThatCannotBeUsed() async throws {
        var tls = try await TrustPeer.tls()
        tls.revocationLists = [.file(try await TrustPeer.file("expired.crl"))]
        let error = try await TrustPeer.failure(.untrusted, from: "valid", tls)
        #expect(error.untrusted?.rule == .unknownRevocation, "\(error)")
        for list: CertificateSource in [.file("/nonexistent.crl"), .file("/etc/hostname"), .pem("text")] {
            tls.revocationLists = [list]
            _ = try await TrustPeer.failure(.file, from: "valid", tls)
        }
    }

    @Test func revocationListsWithTheSystemsAuthorities() async throws {
        var tls = TLSConfiguration(additionalCertificateAuthorityFile: try await TrustPeer.file("ca.pem"))
        tls.revocationLists = [.file(try await TrustPeer.file("empty.crl"))]
        #expect(try await TrustPeer.answer(from: "revoked", tls).hasPrefix("- "))
        tls.authorities = .system
        let error = try await TrustPeer.failure(.untrusted, from: "valid", tls)
        #expect(error.untrusted?.rule == .unknownIssuer, "\(error)")
    }

    @Test func stapledResponses() async throws {
        var tls = try await TrustPeer.tls()
        tls.requiresStapledResponse = true
        let session = TrustPeer.session(tls)
        for _ in 1...2 {
            // A second connection has a response too, because no TLS session is resumed.
            _ = try await session.data(TrustPeer.started.value.url("stapled"))
        }
        await session.shutdown()
        let revoked = try await TrustPeer.failure(.untrusted, from: "stapled-revoked", tls)
        #expect(revoked.untrusted?.rule == .revoked, "\(revoked)")
        let missing = try await TrustPeer.failure(.untrusted, from: "valid", tls)
        #expect(missing.untrusted?.rule == .stapledResponse && !missing.mayHaveSentBytes, "\(missing)")
    }
}
