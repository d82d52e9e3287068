/// The certificate and the key with which a client authenticates to servers (mutual TLS; RFC 8446, section 4.4.2).
///
/// ```swift
/// ClientIdentity(certificate: .file("client.pem"), key: .file("client.key"))      // PEM
/// ClientIdentity(certificate: .file("client.p12")) { try await vault.passphrase() }  // PKCS#12, encrypted
/// ```
///
/// The certificate, its issuers and its key are in PEM (RFC 7468) or in PKCS#12 (RFC 7292). In PEM, the client's certificate comes first,
/// and the issuers that servers may need follow. Servers that do not ask for a certificate get none, nor do servers whose certificate the
/// handshake refuses. A ``ServerTrustManager`` and pins are asked after the handshake: a server that they refuse may have seen the
/// certificate, but gets no request.
///
/// A file that cannot be read, or has no certificate or key, is an error of kind ``TrellisError/Kind/file``. A wrong passphrase, a key of
/// another certificate, and a refusal by the server are errors of kind ``TrellisError/Kind/tls``. Their reason is
/// ``TrellisError/SecurityFailure/clientIdentity(_:)``.
public struct ClientIdentity: Sendable {
    /// The certificate, with its issuers' certificates, in PEM or PKCS#12.
    public let certificate: CertificateSource
    /// The key in PEM; `nil` if it is with the certificate.
    public let key: CertificateSource?
    /// The time within which the passphrase has to be returned. Afterwards the closure's task is cancelled and not waited for, and the
    /// files count as unreadable for now: requests fail, or continue with the earlier identity, and later ones ask again. One
    /// minute unless given.
    public let passphraseTimeout: Duration
    /// Returns the passphrase of an encrypted key.
    package let passphrase: (@Sendable () async throws -> String)?

    /// Creates an identity. Nothing is read until a request needs it.
    ///
    /// - Parameters:
    ///   - certificate: The certificate and its issuers' certificates.
    ///   - key: The key in PEM; `nil`, the default, if it is with the certificate.
    ///   - passphraseTimeout: The time within which the passphrase has to be returned; one minute by default.
    ///   - passphrase: Returns the passphrase of an encrypted key or PKCS#12. Called once each time that the files are read, and only if
    ///     they are encrypted. Its errors are passed on as ``TrellisError/underlying``.
    public init(
        certificate: CertificateSource, key: CertificateSource? = nil,
        passphraseTimeout: Duration = .seconds(60), passphrase: (@Sendable () async throws -> String)? = nil
    ) {
        self.certificate = certificate
        self.key = key
        self.passphraseTimeout = passphraseTimeout
        self.passphrase = passphrase
    }
}
