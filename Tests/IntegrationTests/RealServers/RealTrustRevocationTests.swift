import Foundation
import Testing
import Trellis

/// Lists of revoked certificates, and the stapled OCSP responses of nginx and `openssl s_server`.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealTrustRevocationTests {
    private let server: RealTLSServer

    init() async throws { server = try await RealTLSServer.started.value }

    private func isRefused(
        _ host: String, _ rule: UntrustedCertificate.Rule, on session: Session,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await expectFailure([.untrusted], sourceLocation) {
            try await session.data("https://\(host).example/page")
        }
        #expect(error?.untrusted?.rule == rule, "\(error as Any)", sourceLocation: sourceLocation)
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false, sourceLocation: sourceLocation)
    }

    // MARK: Lists

    @Test func nginxHasARevokedCertificate() async throws {
        let lists = try server.session { $0.tls.revocationLists = [.file(server.path("revoking.crl"))] }
        #expect(try await lists.string("https://good.example/").hasPrefix("TLSv1.3 "))
        await isRefused("revoked", .revoked, on: lists)
        await lists.shutdown()
        // A list in which no certificate is, and no list.
        for name in ["empty.crl", nil] {
            let session = try server.session {
                if let name { $0.tls.revocationLists = [.file(server.path(name))] }
            }
            #expect(try await session.string("https://revoked.example/").hasPrefix("TLSv1.3 "))
            await session.shutdown()
        }
        // The list of the root does not cover the certificates of its intermediate.
        let root = try server.session { $0.tls.revocationLists = [.file(server.path("root.crl"))] }
        await isRefused("good", .unknownRevocation, on: root)
        await root.shutdown()
    }

    @Test(arguments: [("good", true), ("revoked", false)])
    func opensslHasARevokedCertificate(_ name: String, _ isTrusted: Bool) async throws {
        let run = try await server.serve(name)
        let session = try server.session(port: run.port) {
            $0.tls.revocationLists = [.file(server.path("revoking.crl"))]
        }
        if isTrusted {
            #expect(try await session.string("https://\(name).example/page") == "real")
        } else {
            await isRefused(name, .revoked, on: session)
        }
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: isTrusted ? 1 : 0, requests: isTrusted ? 1 : 0))
    }

    // MARK: Stapled responses

    @Test func nginxStaples() async throws {
        let session = try server.session { $0.tls.requiresStapledResponse = true }
        // A second connection has a response, too: no TLS session is resumed.
        for _ in 1...2 {
            var request = Request("https://good.example/close")
            request.httpVersion = .http1Only
            #expect(try await session.string(request) == "TLSv1.3 . 1")
        }
        await isRefused("revoked", .revoked, on: session)
        await isRefused("plain", .stapledResponse, on: session)
        await session.shutdown()
        let lenient = try server.session()
        for host in ["good", "revoked", "plain"] {
            #expect(try await lenient.string("https://\(host).example/").hasPrefix("TLSv1.3 "))
        }
        await lenient.shutdown()
    }

    /// A certificate, the response that is sent with it, and the rule that is broken.
    @Test(arguments: [
        ("good", "-status_file good.ocsp", UntrustedCertificate.Rule?.none), ("good", "", .stapledResponse),
        ("revoked", "-status_file revoked.ocsp", .revoked),
        // The response is for another certificate.
        ("revoked", "-status_file good.ocsp", .stapledResponse),
    ])
    func opensslStaples(_ name: String, _ options: String, _ rule: UntrustedCertificate.Rule?) async throws {
        let run = try await server.serve(name, options)
        let session = try server.session(port: run.port) { $0.tls.requiresStapledResponse = true }
        if let rule {
            await isRefused(name, rule, on: session)
        } else {
            #expect(try await session.string("https://\(name).example/page") == "real")
        }
        await session.shutdown()
        // The response is looked at after the handshake, and before the request.
        let end = try await server.end(of: run)
        #expect(end.requests == (rule == nil ? 1 : 0))
    }
}
