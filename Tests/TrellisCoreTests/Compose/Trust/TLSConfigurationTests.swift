import Foundation
import Testing

@testable import TrellisCore

/// The rules of TLS.
struct TLSConfigurationTests {
    @Test func theFileMayBeNamedByATextOrAURL() {
        let text = TLSConfiguration(additionalCertificateAuthorityFile: "/etc/ca.pem")
        #expect(text.authorities == .systemAnd([.path("/etc/ca.pem")]))
        let url = TLSConfiguration(additionalCertificateAuthorityFile: URL(filePath: "/etc/ca.pem"))
        #expect(url.authorities == text.authorities)
        #expect(CertificateSource.file(URL(filePath: "/etc/ca.pem")) == .file("/etc/ca.pem"))
        let none: String? = nil
        #expect(TLSConfiguration(additionalCertificateAuthorityFile: none).authorities == .system)
    }

    @Test func theDefaultsAreSafe() {
        let tls = TLSConfiguration()
        #expect(tls.authorities == .system && tls.minimumVersion == .v1_2 && tls.maximumVersion == nil)
        #expect(!tls.isInsecure && tls.keyLogFile == nil && tls.clientIdentity == nil && tls.revocationLists.isEmpty)
        #expect(TLSVersion.v1_2 < .v1_3 && !(TLSVersion.v1_3 < .v1_3) && !(TLSVersion.v1_3 < .v1_2))
    }
}
