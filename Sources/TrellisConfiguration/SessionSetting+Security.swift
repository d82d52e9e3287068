#if Configuration
import TrellisCore

extension SessionSetting {
    private static let versions = TLSVersion.allCases.map { ($0.rawValue, $0) }

    /// The settings of TLS. The verification of certificates cannot be disabled from outside.
    static let security: [SessionSetting] = [
        texts("tls.authorityFiles", "The PEM files with authorities that are trusted") {
            $0.tls.authorities = $1.map { .path($0) }
        },
        flag("tls.trustsSystem", default: "true", "Whether the authorities of the system are trusted as well") {
            $0.tls.trustsSystem = $1
        },
        texts("tls.revocationListFiles", "The PEM files with revocation lists") {
            $0.configuration.tls.revocationLists = $1.map { .path($0) }
        },
        flag("tls.requiresStapledResponse", default: "false", "Whether servers must staple an OCSP response") {
            $0.configuration.tls.requiresStapledResponse = $1
        },
        choice("tls.minimumVersion", of: versions, default: "1.2", "The oldest version of TLS") {
            $0.configuration.tls.minimumVersion = $1
        },
        choice("tls.maximumVersion", of: versions, "The newest version of TLS") {
            $0.configuration.tls.maximumVersion = $1
        },
        text("tls.cipherList", "The ciphers of TLS 1.2, as OpenSSL's list") { $0.configuration.tls.cipherList = $1 },
        text("tls.tls13CipherSuites", "The cipher suites of TLS 1.3, as OpenSSL's list") {
            $0.configuration.tls.tls13CipherSuites = $1
        },
        text("tls.clientCertificateFile", "The client's certificate, as PEM or PKCS#12") {
            $0.tls.certificate = .path($1)
        },
        text("tls.clientKeyFile", "The key of the client's certificate as PEM; empty if it is with the certificate") {
            $0.tls.key = $1.isEmpty ? nil : .path($1)
        },
        text("tls.clientPassphrase", "The passphrase of the key", isSecret: true) { draft, text in
            draft.tls.passphrase = { text }
        },
        text("tls.keyLogFile", "The file for the secrets of all connections, for tools that decrypt records") {
            $0.configuration.tls.keyLogFile = $1
        },
        seconds("tls.fileCheckInterval", default: "2", "The shortest time between two checks of changed files") {
            if let time = $1 { $0.configuration.tls.fileCheckInterval = time }
        },
        flag("collectsServerTrust", default: "false", "Whether responses and errors have their server's certificates") {
            $0.configuration.collectsServerTrust = $1
        },
    ]
}
#endif
