/// The versions of TLS.
public enum TLSVersion: String, Sendable, Hashable, CaseIterable, Comparable {
    /// TLS 1.2 (RFC 5246).
    case v1_2 = "1.2"
    /// TLS 1.3 (RFC 8446).
    case v1_3 = "1.3"

    /// Returns whether a version is older than another one.
    public static func < (one: TLSVersion, other: TLSVersion) -> Bool { one == .v1_2 && other == .v1_3 }
}

/// The rules of TLS: the certificates that are trusted, the versions, and the client's certificate.
///
/// ```swift
/// configuration.tls.authorities = .only([.file("/etc/service/ca.pem")])
/// configuration.tls.minimumVersion = .v1_3
/// configuration.tls.clientIdentity = ClientIdentity(certificate: .file("client.pem"), key: .file("client.key"))
/// configuration.tlsForHosts[try HostPattern("**.partner.example")] = partner
/// ```
///
/// A server's certificate must be for the host of the URL, by its subject alternative names (RFC 9110, section 4.3.4), valid now, and
/// issued by a trusted authority. A server that breaks a rule gets no request: the error has the kind ``TrellisError/Kind/untrusted``, and
/// names the certificate and the rule (``UntrustedCertificate``). <doc:RoutesAndTrust> has all rules. HTTPS proxies (``Proxy``) have the
/// same, without ``requiresStapledResponse``.
///
/// Files are read when the first request needs them, for at most ``Timeouts/connect``, and compared at most once in ``fileCheckInterval``.
/// New contents serve new requests on new connections. <doc:ClientCertificates> says what happens to contents that cannot be used.
public struct TLSConfiguration: Sendable {
    /// The certificate authorities that are trusted. The default is ``CertificateAuthorities/system``, whose file libcurl reads. A session
    /// looks whether that file has changed as it does for other files. With nothing but the system's authorities, no request waits for that
    /// look, and no event reports a change.
    public var authorities = CertificateAuthorities.system
    /// The certificate revocation lists (RFC 5280, section 5), as PEM. The default is none: revocation is not checked. With lists, each
    /// certificate of a chain must be covered by a list of its issuer that is valid now, and a chain must end in a root.
    public var revocationLists: [CertificateSource] = []
    /// Whether servers must send a stapled OCSP response (RFC 6066, section 8) that says that their certificate is not revoked.
    /// The default is `false`: a response is not requested, unless the host's evaluator needs one (``RevocationTrustEvaluator``). With
    /// `true`, no TLS session is resumed, and HTTPS proxies are not asked.
    public var requiresStapledResponse = false
    /// The oldest version of TLS that is accepted. The default is 1.2; older versions are not supported (RFC 8996).
    public var minimumVersion = TLSVersion.v1_2
    /// The newest version of TLS that is accepted; `nil`, the default, for the newest that libcurl supports. A version below
    /// ``minimumVersion`` makes each request fail.
    public var maximumVersion: TLSVersion?
    /// The ciphers of TLS 1.2 in their order, as OpenSSL's list, such as `ECDHE+AESGCM`; `nil`, the default, for libcurl's.
    public var cipherList: String?
    /// The cipher suites of TLS 1.3 in their order, as OpenSSL's list, such as `TLS_AES_256_GCM_SHA384`; `nil`, the default, for
    /// libcurl's.
    public var tls13CipherSuites: String?
    /// The certificate and key with which this client authenticates to servers that ask for a certificate (mutual TLS); `nil`, the default,
    /// for none. An HTTPS proxy gets it only if the configuration is one of ``SessionConfiguration/tlsForHosts`` that matches the proxy.
    public var clientIdentity: ClientIdentity?
    /// The path of a file to which the secrets of all connections are appended, in the format of `SSLKEYLOGFILE`, so that tools such as
    /// Wireshark can decrypt what they have recorded; `nil`, the default, for none. Anyone who has the file can do the same. The file is
    /// created for its owner only. Each connection writes to the file on its engine's thread.
    public var keyLogFile: String?
    /// The shortest time between two checks of whether files have changed. The default is two seconds.
    public var fileCheckInterval = Duration.seconds(2)
    /// Whether the verification of certificates and host names is disabled. Anyone on the network path can then read and change
    /// everything.
    public private(set) var isInsecure = false

    /// Creates a configuration that trusts some certificate authorities; the system's by default.
    public init(authorities: CertificateAuthorities = .system) { self.authorities = authorities }

    /// Creates a configuration that trusts the system's certificate authorities, and the authorities in a PEM file if one is given.
    public init(additionalCertificateAuthorityFile: (any FilePathConvertible)?) {
        if let additionalCertificateAuthorityFile {
            authorities = .systemAnd([.file(additionalCertificateAuthorityFile)])
        }
    }

    /// Returns a configuration **without any verification**. Anyone on the network path can read and change everything. Use it only for
    /// experiments on your own machine. For a server with a self-signed certificate, set its authority in ``authorities`` instead.
    public static func insecureWithoutAnyVerification() -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.isInsecure = true
        return configuration
    }
}
