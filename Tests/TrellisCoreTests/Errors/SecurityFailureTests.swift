import CurlEngine
import Foundation
import Testing

@testable import TrellisCore

/// Failures of trust, in words and by kinds.
struct SecurityFailureTests {
    private static let date = Date(timeIntervalSince1970: 1_577_934_245)

    @Test(
        arguments: [
            (.expired(since: date), "it expired on 2020-01-02T03:04:05Z"), (.expired(since: nil), "words"),
            (.notYetValid(until: date), "it is not valid before 2020-01-02T03:04:05Z"),
            (.wrongHost("a", names: ["b", "*.c"]), "it is not for a, but for b, *.c"),
            (
                .wrongHost("a", names: ["1", "2", "3", "4", "5", "6", "7"]),
                "it is not for a, but for 1, 2, 3, 4, 5 and 2 more"
            ),
            (.wrongHost("a", names: []), "it is not for a: it has no subject alternative name"),
            (.selfSigned, "it is self-signed, and is not one of the trusted ones"),
            (.revoked, "it was revoked"), (.weak, "its key or signature is too weak: words"), (.other, "words"),
        ] as [(UntrustedCertificate.Rule, String)])
    func words(_ rule: UntrustedCertificate.Rule, _ words: String) {
        #expect("\(UntrustedCertificate(rule, text: "words"))" == words)
        let leaf = UntrustedCertificate(rule, depth: 0, subject: "CN=x", issuer: "CN=y", text: "words")
        #expect("\(leaf)" == "\(words) (certificate: CN=x; issuer: CN=y)")
        let above = UntrustedCertificate(rule, depth: 2, subject: "CN=x", isOfProxy: true, text: "words")
        #expect("\(above)" == "\(words) (certificate 2 above the proxy's: CN=x; issuer: unknown)")
    }

    @Test(
        arguments: [
            (.required, .tls), (.refused("x"), .tls), (.file(path: "x", reason: "y"), .file),
            (.noCertificate("x"), .file),
            (.noKey("x"), .file), (.noPassphrase("x"), .tls), (.wrongPassphrase("x"), .tls),
            (.mismatch(key: "x", certificate: "y"), .tls),
            (.unusable("x"), .tls), (.requiredByProxy, .tls), (.refusedByProxy("x"), .tls),
        ] as [(TrellisError.ClientIdentityFailure, TrellisError.Kind)])
    func identities(_ failure: TrellisError.ClientIdentityFailure, _ kind: TrellisError.Kind) {
        let error = TrellisError(.securityFailed(.clientIdentity(failure)))
        #expect(error.kind == kind && !error.isRetryable)
        #expect(error.description == failure.description)
    }

    @Test func otherKinds() {
        #expect(TrellisError(.securityFailed(.version("x"))).kind == .tls)
        #expect(TrellisError(.securityFailed(.keyLogFile(path: "x", reason: "y"))).kind == .file)
        #expect(TrellisError(.invalidRequest(.tls("x"))).kind == .invalidRequest)
        let ofProxy = TrellisError(.securityFailed(.untrusted(.init(.selfSigned, isOfProxy: true))))
        #expect(ofProxy.description.hasPrefix("the proxy's certificate is not trusted"))
    }

    @Test(arguments: [42, 43, 44, 45, 46, 48, 49, 116])
    func alertsHaveWords(_ alert: Int) {
        func failure(
            _ cause: EngineFailure.ClientCertificateCause, _ alert: Int, _ peer: TLSPeer = .server
        ) -> TrellisError.ClientIdentityFailure { .init(cause, alert: alert, of: peer, text: "text") }
        #expect(failure(.refused, alert) != .refused("text"))
        #expect(failure(.refused, 0) == .refused("text"))
        #expect(failure(.required, alert) == .required)
        #expect(failure(.refused, 0, .proxy) == .refusedByProxy("text"))
        #expect(failure(.required, alert, .proxy) == .requiredByProxy)
    }
}
