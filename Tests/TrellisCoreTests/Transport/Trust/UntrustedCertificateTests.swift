import CurlEngine
import Testing

@testable import TrellisCore

/// The names of a certificate that was not accepted, which are those of anyone.
struct UntrustedCertificateTests {
    @Test(arguments: [
        ("CN=a\u{9b}31mb", #"CN=a\c2\9b31mb"#), ("CN=a\u{2028}b\u{202e}c", #"CN=a\e2\80\a8b\e2\80\aec"#),
        ("CN=a\u{1b}[2Jb", #"CN=a\1b[2Jb"#), (#"CN=a\, b, O=M\u{fc}ller"#, #"CN=a\, b, O=M\u{fc}ller"#),
        ("CN=Jäger, O=日本", "CN=Jäger, O=日本"),
    ])
    func invisibleCharactersOfNamesAreEscaped(_ name: String, _ escaped: String) {
        var rejected = RejectedCertificate(.selfSigned, host: "a.example", text: "")
        (rejected.depth, rejected.subject, rejected.issuer) = (0, name, name)
        let certificate = UntrustedCertificate(rejected)
        #expect(certificate.subject == escaped && certificate.issuer == escaped)
        let error = TrellisError(.securityFailed(.untrusted(certificate)))
        #expect(error.description.hasSuffix("(certificate: \(escaped); issuer: \(escaped))"))
    }
}
