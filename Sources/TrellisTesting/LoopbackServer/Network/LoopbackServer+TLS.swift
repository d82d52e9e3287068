import CurlEngine

extension LoopbackServer {
    /// The settings of a server that uses TLS.
    public struct TLS: Sendable {
        /// The authority that issues the server's certificate, and must have issued clients' certificates.
        public var authority: TestAuthority
        /// The names and literal addresses that the certificate is for, besides `localhost`, `127.0.0.1` and `::1`. A name may have a
        /// wildcard, such as `*.example.com`.
        public var names: [String]
        /// The flaw of the certificate; `nil`, the default, for a valid one.
        public var flaw: CertificateFlaw?
        /// Whether clients must have a certificate of the authority (``TestAuthority/clientIdentity(_:)``). The default is
        /// `false`.
        public var requiresClientCertificate = false

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - authority: The authority; `nil`, the default, for a new one.
        ///   - names: Further names and addresses of the server.
        ///   - flaw: The flaw of the certificate.
        ///   - requiresClientCertificate: Whether clients must have a certificate.
        /// - Throws: ``TLSUnavailable`` if OpenSSL is missing.
        public init(
            authority: TestAuthority? = nil, names: [String] = [], flaw: CertificateFlaw? = nil,
            requiresClientCertificate: Bool = false
        ) throws {
            self.authority = try authority ?? TestAuthority()
            self.names = names
            self.flaw = flaw
            self.requiresClientCertificate = requiresClientCertificate
        }
    }

    /// The error of TLS that is not available, or of a name that no certificate can have.
    public struct TLSUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
        /// The error in words.
        public var description: String {
            "the process has no OpenSSL, or OpenSSL has refused a name of the certificate"
        }
    }

    /// The certificates of a server, which are made when a handshake first needs them.
    final class Identities: Sendable {
        private struct Key: Hashable {
            let flaw: CertificateFlaw?
            let requiresClientCertificate: Bool
        }

        private let tls: TLS
        private let made = Locked<[Key: ServerTLS]>([:])

        /// Makes the certificate without a fault.
        init(_ tls: TLS) throws {
            self.tls = tls
            _ = try settings(for: [])
        }

        /// Returns the settings for a handshake with some faults.
        func settings(for faults: [Fault]) throws -> ServerTLS {
            let flaws = faults.compactMap { if case .tls(.certificate(let flaw)) = $0 { flaw } else { nil } }
            let key = Key(
                flaw: flaws.first ?? tls.flaw,
                requiresClientCertificate: tls.requiresClientCertificate
                    || faults.contains(.tls(.clientCertificateRequired)))
            return try made.withLock { made in
                if let known = made[key] { return known }
                let authority = key.requiresClientCertificate ? tls.authority.issuer : nil
                guard let certificate = try certificate(key.flaw),
                    let settings = ServerTLS(certificate, clientAuthority: authority)
                else { throw TLSUnavailable() }
                made[key] = settings
                return settings
            }
        }

        private func certificate(_ flaw: CertificateFlaw?) throws -> IssuedCertificate? {
            let day: Int64 = 86_400
            let (begin, end) =
                switch flaw {
                case .expired: (-30 * day, -day)
                case .notYetValid: (day, 30 * day)
                default: (-day, TestAuthority.year)
                }
            let issuer: IssuedCertificate? =
                switch flaw {
                case .selfSigned: nil
                case .unknownAuthority: try TestAuthority(name: "Authority that no test trusts").issuer
                default: tls.authority.issuer
                }
            let names =
                flaw == .wrongHost ? [CertificateFlaw.otherHost] : ["localhost", "127.0.0.1", "::1"] + tls.names
            return IssuedCertificate(
                commonName: "Server of a test", names: names, use: .server, begin: begin, end: end, issuer: issuer)
        }
    }
}
