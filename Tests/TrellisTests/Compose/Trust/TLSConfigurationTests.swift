import Foundation
import Testing

@testable import Trellis

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

    @Test func curlOptions() {
        var tls = TLSConfiguration(authorities: .only([.file("a b.pem"), .pem("text")]))
        tls.revocationLists = [.file("list.pem")]
        tls.requiresStapledResponse = true
        tls.minimumVersion = .v1_3
        tls.maximumVersion = .v1_3
        tls.cipherList = "HIGH"
        tls.tls13CipherSuites = "TLS_AES_256_GCM_SHA384"
        tls.clientIdentity = ClientIdentity(certificate: .file("c:\\x.PFX"), key: .file("key.pem")) { "secret" }
        tls.keyLogFile = "keys.log"
        #expect(
            tls.cURLArguments == [
                "--cacert", "a b.pem", "--crlfile", "list.pem", "--cert-status", "--tlsv1.3", "--tls-max", "1.3",
                "--ciphers", "HIGH", "--tls13-ciphers", "TLS_AES_256_GCM_SHA384", "--cert", "c\\:\\\\x.PFX",
                "--cert-type", "P12", "--key", "key.pem",
            ])
        #expect(TLSConfiguration().cURLArguments == [])
        #expect(TLSConfiguration.insecureWithoutAnyVerification().cURLArguments == ["--insecure"])
    }
}
