import CurlEngine
public import TrellisCore

/// A certificate authority for tests, made at run time. It is the authority of
/// ``LoopbackServer/https(on:tls:storesBodies:faults:clock:_:)``, and no other program trusts it.
///
/// ```swift
/// let authority = try TestAuthority()
/// var configuration = SessionConfiguration()
/// configuration.tls = authority.tlsConfiguration
/// configuration.tls.clientIdentity = try authority.clientIdentity("worker")
/// ```
public final class TestAuthority: Sendable {
    /// A year, in seconds.
    static let year: Int64 = 31_536_000

    /// The certificate of the authority in PEM (RFC 7468).
    public let certificate: String

    let issuer: IssuedCertificate

    /// Creates an authority with its own key (ECDSA on the curve P-256), valid for ten years.
    ///
    /// - Parameter name: The common name of the authority, at most 64 characters.
    /// - Throws: ``LoopbackServer/TLSUnavailable`` if OpenSSL is missing, or if it refuses the name.
    public init(name: String = "Authority of a test") throws {
        let issuer = IssuedCertificate(
            commonName: name, use: .authority, begin: -Self.year, end: 10 * Self.year, issuer: nil)
        guard let issuer else { throw LoopbackServer.TLSUnavailable() }
        self.issuer = issuer
        certificate = issuer.pem
    }

    /// A configuration that trusts this authority and no other.
    public var tlsConfiguration: TLSConfiguration { TLSConfiguration(authorities: .only([.pem(certificate)])) }

    /// Returns a client certificate with its key, for servers that require one.
    ///
    /// - Parameter name: The common name of the client, at most 64 characters.
    /// - Throws: ``LoopbackServer/TLSUnavailable`` if OpenSSL refuses the name.
    public func clientIdentity(_ name: String = "client") throws -> ClientIdentity {
        let certificate = IssuedCertificate(
            commonName: name, use: .client, begin: -3600, end: Self.year, issuer: issuer)
        guard let certificate else { throw LoopbackServer.TLSUnavailable() }
        return ClientIdentity(certificate: .pem(certificate.pemWithKey))
    }
}
