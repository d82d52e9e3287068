import CCurl

/// The certificates of a TLS server, encoded as DER, with the checks and the result of the handshake.
package final class CertificateChain: Sendable {
    /// The checks of revocation that a handshake has made.
    package struct RevocationChecks: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        package let rawValue: Int
        /// Creates a set from its bits.
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// Every certificate was looked up in revocation lists.
        package static let lists = RevocationChecks(rawValue: 1)
        /// The server has sent a valid OCSP response for its certificate.
        package static let staple = RevocationChecks(rawValue: 2)
    }

    /// The certificates of the validated chain, from the server's to a trusted authority's; empty if the handshake of the connection
    /// has validated none.
    package let validated: [[UInt8]]
    /// The certificates that the server has sent, its own first.
    package let sent: [[UInt8]]
    /// The checks of revocation.
    package let revocationChecks: RevocationChecks
    /// The version of TLS; `nil` if the handshake is not complete.
    package let version: TransferTrust.Version?
    /// OpenSSL's name of the cipher suite; `nil` if the handshake is not complete.
    package let cipherSuite: String?

    /// Creates a chain.
    package init(
        validated: [[UInt8]], sent: [[UInt8]], revocationChecks: RevocationChecks = [],
        version: TransferTrust.Version? = nil, cipherSuite: String? = nil
    ) {
        self.validated = validated
        self.sent = sent
        self.revocationChecks = revocationChecks
        self.version = version
        self.cipherSuite = cipherSuite
    }
}

extension CertificateChain: Hashable {
    /// Returns whether the certificates, the checks and the results are the same.
    package static func == (one: CertificateChain, other: CertificateChain) -> Bool {
        one === other
            || one.validated == other.validated && one.sent == other.sent
                && one.revocationChecks == other.revocationChecks
                && one.version == other.version && one.cipherSuite == other.cipherSuite
    }

    /// Hashes the server's own certificate, which differs between almost all chains.
    package func hash(into hasher: inout Hasher) { hasher.combine(validated.first ?? sent.first) }
}

extension CertificateChain {
    /// Reads the certificates of a TLS session with a server; `nil` without a session.
    ///
    /// - Parameter verifies: Whether the handshake has verified the certificates.
    convenience init?(of session: OpaquePointer?, verifies: Bool) {
        var lists = Lists()
        let flags = unsafe withUnsafeMutablePointer(to: &lists) { lists in
            unsafe ccurl_tls_read_chain(
                UnsafeMutableRawPointer(session), verifies,
                { context, isSent, bytes, count in
                    let certificate = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
                    let lists = unsafe context.assumingMemoryBound(to: Lists.self)
                    if isSent {
                        unsafe lists.pointee.sent.append(certificate)
                    } else {
                        unsafe lists.pointee.validated.append(certificate)
                    }
                }, lists)
        }
        guard flags >= 0 else { return nil }
        var checks: RevocationChecks = []
        if flags & CCURL_CHAIN_CHECKED_LISTS != 0 { checks.insert(.lists) }
        if flags & CCURL_CHAIN_CHECKED_STAPLE != 0 { checks.insert(.staple) }
        self.init(
            validated: lists.validated, sent: lists.sent, revocationChecks: checks,
            version: unsafe TransferTrust.Version(number: ccurl_tls_version(UnsafeMutableRawPointer(session))),
            cipherSuite: unsafe ccurl_tls_cipher(UnsafeMutableRawPointer(session)).map { unsafe String(cString: $0) })
    }

    private struct Lists {
        var validated: [[UInt8]] = []
        var sent: [[UInt8]] = []
    }
}
