import CurlEngine
import FoundationEssentials

extension UntrustedCertificate {
    /// Creates a certificate from one that ended a handshake of the engine.
    init(_ certificate: RejectedCertificate) {
        func date(_ seconds: Int64?) -> Date? { seconds.map { Date(timeIntervalSince1970: Double($0)) } }
        let rule: Rule =
            switch certificate.rule {
            case .expired: .expired(since: date(certificate.notAfter))
            case .notYetValid: .notYetValid(until: date(certificate.notBefore))
            case .wrongHost: .wrongHost(certificate.host, names: certificate.names)
            case .selfSigned: .selfSigned
            case .unknownIssuer: .unknownIssuer
            case .unknownAuthority: .unknownAuthority
            case .wrongPurpose: .wrongPurpose
            case .revoked: .revoked
            case .unknownRevocation: .unknownRevocation
            case .nameConstraint: .nameConstraint
            case .weak: .weak
            case .stapledResponse: .stapledResponse
            case .other: .other
            }
        self.init(
            rule, depth: certificate.depth, subject: certificate.subject.map(DistinguishedName.escapingInvisible),
            issuer: certificate.issuer.map(DistinguishedName.escapingInvisible),
            isOfProxy: certificate.peer == .proxy, text: certificate.text)
    }
}

extension TrellisError.ClientIdentityFailure {
    /// Creates the failure from the engine's.
    ///
    /// - Parameter alert: The number of the peer's alert; 0 if there was none.
    init(_ cause: EngineFailure.ClientCertificateCause, alert: Int, of peer: TLSPeer, text: String) {
        func refused(_ reason: String) -> Self { peer == .proxy ? .refusedByProxy(reason) : .refused(reason) }
        self =
            switch cause {
            case .required: peer == .proxy ? .requiredByProxy : .required
            case .refused: refused(Self.words(of: alert) ?? text)
            case .unsuitable: refused("it has no key or signature of the accepted kinds")
            case .unusable: .unusable(text)
            }
    }

    /// Returns the meaning of an alert of TLS (RFC 8446, section 6.2) about a client certificate.
    static func words(of alert: Int) -> String? {
        switch alert {
        case 42: "it is corrupt or its signature is wrong (alert 42, bad_certificate)"
        case 43: "it is of an unsupported kind (alert 43, unsupported_certificate)"
        case 44: "it was revoked (alert 44, certificate_revoked)"
        case 45: "it has expired (alert 45, certificate_expired)"
        case 46: "alert 46, certificate_unknown"
        case 48: "its authority is not known to the peer (alert 48, unknown_ca)"
        case 49: "the access is denied (alert 49, access_denied)"
        case 116: "the peer got none (alert 116, certificate_required)"
        default: nil
        }
    }
}
