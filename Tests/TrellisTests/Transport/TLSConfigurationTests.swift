import Foundation
import Testing
import Trellis

/// The file of certificate authorities.
struct TLSConfigurationTests {
    @Test func theFileMayBeNamedByATextOrAURL() {
        let text = TLSConfiguration(additionalCertificateAuthorityFile: "/etc/ca.pem")
        #expect(text.additionalCertificateAuthorityFile == "/etc/ca.pem")
        #expect(TLSConfiguration(additionalCertificateAuthorityFile: URL(filePath: "/etc/ca.pem")) == text)
        let none: String? = nil
        #expect(TLSConfiguration(additionalCertificateAuthorityFile: none) == TLSConfiguration())
    }
}
