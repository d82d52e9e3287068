extension TrellisError {
    /// The reason why an evaluator (``ServerTrustEvaluating``) does not trust a server that the TLS handshake has accepted.
    public enum ServerTrustFailure: Sendable, Hashable {
        /// The session's ``ServerTrustManager`` has no evaluator for the host, and demands one for every host. No connection was made.
        case noRequiredEvaluator(host: String)
        /// The server has shown no certificates, or they cannot be read.
        case noCertificatesFound(host: String)
        /// The handshake has not validated the chain, because the session verifies nothing.
        case notValidated(host: String)
        /// The handshake has not made the checks that a ``RevocationTrustEvaluator`` demands.
        case revocationNotChecked(host: String)
        /// An evaluator of the user's own has thrown an error, which is ``TrellisError/underlying``.
        case customEvaluationFailed(host: String)
        /// The server has shown other certificates each time, more often than the evaluator is asked for one request.
        case changingCertificates(host: String, evaluations: Int)
    }
}

extension TrellisError.ServerTrustFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .noRequiredEvaluator(let host): "there is no evaluator for \(host), and every host needs one"
        case .noCertificatesFound(let host): "\(host) has shown no certificates that can be read"
        case .notValidated(let host):
            "the certificates of \(host) were not validated, because the session verifies none"
        case .revocationNotChecked(let host):
            "the handshake with \(host) has not checked whether the certificates were revoked"
        case .customEvaluationFailed(let host): "the evaluator of \(host) does not trust it"
        case .changingCertificates(let host, let evaluations):
            "\(host) has shown other certificates each time, after \(evaluations) evaluations"
        }
    }
}

extension TrellisError.Reason {
    /// Returns the reason for a server that an evaluator does not trust.
    static func serverTrust(_ failure: TrellisError.ServerTrustFailure) -> TrellisError.Reason {
        .securityFailed(.serverTrustEvaluationFailed(failure))
    }

    /// Whether the reason is the decision of an evaluator.
    var isOfServerTrust: Bool {
        switch self {
        case .securityFailed(.pinMismatch), .securityFailed(.serverTrustEvaluationFailed): true
        default: false
        }
    }
}
