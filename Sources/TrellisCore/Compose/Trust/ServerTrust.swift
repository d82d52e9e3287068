import CurlEngine

/// The certificates with which a server has proved its identity in a TLS handshake, and the version and cipher suite of the connection.
///
/// The names of hosts and the signatures were verified in the handshake by the rules of the session (``TLSConfiguration``); ``isValidated``
/// says whether they were.
public struct ServerTrust: Sendable {
    /// The checks of revocation that a handshake has made.
    public struct RevocationChecks: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int
        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }
        /// Every certificate of the chain was looked up in the revocation lists of the session (RFC 5280, section 5).
        public static let revocationLists = RevocationChecks(rawValue: 1)
        /// The server has sent a valid response of its authority with the handshake, which says that the certificate is good (RFC 6066,
        /// section 8).
        public static let stapledResponse = RevocationChecks(rawValue: 2)
    }

    private struct Parts: Sendable, Hashable {
        let host: String
        let chain: [Certificate]
        let sentChain: [Certificate]
        let isValidated: Bool
        let revocationChecks: RevocationChecks
        let tlsVersion: TLSVersion?
        let cipherSuite: String?
    }

    private let storage: Boxed<Parts>

    /// Creates the trust of a server, for tests of evaluators.
    ///
    /// - Parameters:
    ///   - host: The host that the connection was made to.
    ///   - chain: The certificates from the server's to the authority's.
    ///   - sentChain: The certificates that the server has sent; `chain` if `nil`.
    ///   - isValidated: Whether the handshake has validated the chain; `true` unless given.
    ///   - revocationChecks: The checks for revocation that were made; none unless given.
    ///   - tlsVersion: The version of TLS; `nil` unless given.
    ///   - cipherSuite: The cipher suite by OpenSSL's name; `nil` unless given.
    public init(
        host: String, chain: [Certificate], sentChain: [Certificate]? = nil, isValidated: Bool = true,
        revocationChecks: RevocationChecks = [], tlsVersion: TLSVersion? = nil, cipherSuite: String? = nil
    ) {
        storage = Boxed(
            Parts(
                host: host, chain: chain, sentChain: sentChain ?? chain, isValidated: isValidated,
                revocationChecks: revocationChecks, tlsVersion: tlsVersion, cipherSuite: cipherSuite))
    }

    /// Creates the trust of a server from the certificates of a connection.
    ///
    /// A server may send certificates that play no part (RFC 8446, section 4.4.2). Those that cannot be read are left out of ``sentChain``.
    ///
    /// - Throws: ``TrellisError`` if a certificate of ``chain`` cannot be read.
    init(_ chain: CertificateChain, host: String) throws(TrellisError) {
        var known: [[UInt8]: Certificate] = [:]
        func read(_ encoding: [UInt8]) throws(TrellisError) -> Certificate {
            if let certificate = known[encoding] { return certificate }
            let certificate = try Certificate(derRepresentation: encoding)
            known[encoding] = certificate
            return certificate
        }
        // After a complete handshake, the first certificate is the one of the server's key. The others may be anyone's, and after a
        // handshake that was refused, so may the first one.
        let isValidated = !chain.validated.isEmpty
        var certificates: [Certificate] = []
        for encoding in isValidated ? chain.validated : Array(chain.sent.prefix(1)) {
            certificates.append(try read(encoding))
        }
        var sent: [Certificate] = []
        for encoding in chain.sent {
            if let certificate = try? read(encoding) { sent.append(certificate) }
        }
        self.init(
            host: host, chain: certificates, sentChain: sent, isValidated: isValidated,
            revocationChecks: RevocationChecks(rawValue: chain.revocationChecks.rawValue),
            tlsVersion: chain.version.map { $0 == .v1_2 ? .v1_2 : .v1_3 }, cipherSuite: chain.cipherSuite)
    }

    /// The host that the request is for, as in its URL: in lower case, and an IPv6 address without brackets.
    public var host: String { storage.value.host }

    /// The certificates from the server's to the one of the authority that the session trusts, as the handshake has validated them. If
    /// ``isValidated`` is `false`, only the server's own.
    public var chain: [Certificate] { storage.value.chain }

    /// The certificates that the server has sent. They include ones that play no part in ``chain``, and may be missing others, such as the
    /// authority's. They prove nothing, because anyone can send any certificate. Those that cannot be read are left out.
    public var sentChain: [Certificate] { storage.value.sentChain }

    /// Whether the handshake of the connection has validated ``chain`` and the name of the host. `false` without verification
    /// (``TLSConfiguration/insecureWithoutAnyVerification()``), after a handshake that was refused, in which the server need not have the
    /// key of its certificate, and for a connection that has resumed a TLS session, which no connection to a host with an evaluator does
    /// (``ServerTrustManager``).
    public var isValidated: Bool { storage.value.isValidated }

    /// The checks of revocation that the handshake has made.
    public var revocationChecks: RevocationChecks { storage.value.revocationChecks }

    /// The version of TLS that the connection has, which is 1.3 over HTTP/3 (RFC 9001); `nil` after a handshake that was refused.
    public var tlsVersion: TLSVersion? { storage.value.tlsVersion }

    /// The cipher suite that the connection has, by OpenSSL's name, such as `TLS_AES_256_GCM_SHA384` of TLS 1.3 (RFC 8446, section B.4)
    /// and `ECDHE-RSA-AES256-GCM-SHA384` of TLS 1.2; `nil` after a handshake that was refused.
    public var cipherSuite: String? { storage.value.cipherSuite }
}

extension ServerTrust: Hashable {
    /// Returns whether the hosts, the certificates, the checks, the versions of TLS and the cipher suites are the same.
    public static func == (one: ServerTrust, other: ServerTrust) -> Bool { one.storage == other.storage }

    /// Hashes the host and the server's own certificate.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(chain.first)
    }
}

extension ServerTrust: CustomStringConvertible {
    /// The subjects and pins of the chain.
    public var description: String { chain.map(\.description).joined(separator: ", ") }
}
