/// The certificates that TLS trusts. The version of TLS is always 1.2 or later.
public struct TLSConfiguration: Sendable, Hashable {
    /// The path of a PEM file of certificate authorities that are trusted in addition to the system's; `nil` if there is none.
    public var additionalCertificateAuthorityFile: String?
    /// Indicates whether the verification of certificates and host names is disabled. Anyone on the network path can then read and change
    /// everything.
    public private(set) var isInsecure = false

    /// Creates a configuration that trusts the system's certificate authorities, and the authorities in a file if one is given.
    public init(additionalCertificateAuthorityFile: (any FilePathConvertible)? = nil) {
        self.additionalCertificateAuthorityFile = additionalCertificateAuthorityFile?.filePath
    }

    /// Returns a configuration **without any verification**. Anyone on the network path can read and change everything. Use it only for
    /// experiments on your own machine. For a server with a self-signed certificate, set its authority in
    /// ``additionalCertificateAuthorityFile`` instead.
    public static func insecureWithoutAnyVerification() -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.isInsecure = true
        return configuration
    }
}
