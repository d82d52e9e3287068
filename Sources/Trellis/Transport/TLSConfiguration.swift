/// Which certificates TLS trusts. Always TLS 1.2 or newer.
public struct TLSConfiguration: Sendable, Hashable {
    /// A PEM file of certificate authorities that are trusted as well as the system's.
    public var additionalCertificateAuthorityFile: String?
    /// Neither certificates nor host names are verified: anyone on the network can read and change everything.
    public private(set) var isInsecure = false

    /// The system's trust, and that in a file if one is given.
    public init(additionalCertificateAuthorityFile: String? = nil) {
        self.additionalCertificateAuthorityFile = additionalCertificateAuthorityFile
    }

    /// **No verification at all.** Anyone on the network path can read and change everything. For experiments on your own
    /// machine only; for a server with a certificate of your own making, name its authority in
    /// ``additionalCertificateAuthorityFile`` instead.
    public static func insecureWithoutAnyVerification() -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.isInsecure = true
        return configuration
    }
}
