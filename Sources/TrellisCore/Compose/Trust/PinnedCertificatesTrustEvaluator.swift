import FoundationEssentials

/// An evaluator that trusts the servers in whose validated chain one of some certificates occurs.
///
/// A server's certificate is renewed every few months, and then differs from the pinned one even if its key is the same. Pin an authority's
/// certificate, or use ``PublicKeysTrustEvaluator``. One certificate alone is an error, unless the creator allows it: when it expires or
/// its key is lost, no client can reach the server before it is updated.
///
/// Pinned certificates are no authorities here. To trust a self-signed certificate, or an authority that the system does not know, name it
/// in the session's ``TLSConfiguration``. It can trust the authorities of a file alone, and the handshake then accepts no other chain.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    /// The certificates. One of them has to occur in the chain.
    public let certificates: Set<Certificate>
    /// The handling of servers that have none of the certificates.
    public let enforcement: PinEnforcement
    /// Whether the chain has to be validated by the handshake.
    public let performDefaultValidation: Bool

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: The certificates, for example from a file (``Certificate/certificates(pemRepresentation:)``).
    ///   - enforcement: The handling of servers that have none of the certificates.
    ///   - allowsSingleCertificate: Whether there may be no backup: one certificate alone.
    ///   - performDefaultValidation: Whether the chain has to be validated by the handshake. If `false`, the evaluator can be
    ///     used in a session without verification (``TLSConfiguration/insecureWithoutAnyVerification()``), where only the server's own
    ///     certificate counts.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if there are too few certificates.
    public init(
        certificates: [Certificate], enforcement: PinEnforcement = .enforced, allowsSingleCertificate: Bool = false,
        performDefaultValidation: Bool = true
    ) throws(TrellisError) {
        let distinct = Set(certificates)
        guard !distinct.isEmpty, distinct.count > 1 || allowsSingleCertificate else {
            let need =
                distinct.isEmpty ? "a certificate" : "a second certificate as a backup, or allowsSingleCertificate"
            throw TrellisError(.invalidRequest(.trustEvaluator("an evaluator of certificates needs \(need)")))
        }
        self.certificates = distinct
        self.enforcement = enforcement
        self.performDefaultValidation = performDefaultValidation
    }

    /// Returns if one of the certificates occurs in the chain.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/pinMismatch``, or of kind ``TrellisError/Kind/trustRefused`` if the chain is
    ///   not validated.
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        _ = try evaluateAtOnce(trust, forHost: host)
    }
}

extension PinnedCertificatesTrustEvaluator: ImmediateTrustEvaluating {
    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport] {
        if performDefaultValidation { try trust.requireValidation(forHost: host) }
        let hasPin = trust.chain.contains { certificates.contains($0) }
        return try enforcement.reports(on: hasPin ? nil : mismatch(trust, host), forHost: host, now: Date())
    }

    private func mismatch(_ trust: ServerTrust, _ host: String) throws(TrellisError) -> PinMismatch {
        var chain: [PinMismatch.Presented] = []
        for certificate in trust.chain {
            chain.append(.init(subject: certificate.subject, pin: try Self.fingerprint(certificate)))
        }
        var configured: [String] = []
        for certificate in certificates { configured.append(try Self.fingerprint(certificate)) }
        return PinMismatch(.certificates, host: host, chain: chain, configured: configured.sorted())
    }

    /// Returns the digest of a complete certificate, in the form of a pin.
    private static func fingerprint(_ certificate: Certificate) throws(TrellisError) -> String {
        let digest = try SHA256Digest.bytes(of: ArraySlice([UInt8](certificate.derRepresentation)))
        return "sha256/" + digest.base64EncodedString()
    }
}
