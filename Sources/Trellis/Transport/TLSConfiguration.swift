/// The certificates that TLS trusts. The version of TLS is always 1.2 or newer.
public struct TLSConfiguration: Sendable, Hashable {
    /// The path of a PEM file of certificate authorities that are trusted in addition to the system's; `nil`: none.
    public var additionalCertificateAuthorityFile: String?
    /// Indicates whether certificates and host names are not verified: anyone on the network path can read and change everything.
    public private(set) var isInsecure = false

    /// Creates a configuration that trusts the system's certificate authorities, and the authorities in a file if one is given.
    public init(additionalCertificateAuthorityFile: String? = nil) {
        self.additionalCertificateAuthorityFile = additionalCertificateAuthorityFile
    }

    /// Returns a configuration **without any verification**. Anyone on the network path can read and change everything. For
    /// experiments on your own machine only; for a server with a self-made certificate, set its authority in
    /// ``additionalCertificateAuthorityFile`` instead.
    public static func insecureWithoutAnyVerification() -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.isInsecure = true
        return configuration
    }
}
