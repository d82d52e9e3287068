/// An evaluator that trusts the servers whose certificates the TLS handshake has checked for revocation.
///
/// The checks are made in the handshake: with the revocation lists of the session's ``TLSConfiguration`` (RFC 5280, section 5), or with a
/// stapled response of the authority (RFC 6066, section 8). The evaluator demands, for its hosts, that such a check was made. It asks no
/// authority itself, which would learn which servers are used.
///
/// Where the session has no lists for the host, or the options say so, the handshake asks for a stapled response, and refuses servers
/// without one: with an error of kind ``TrellisError/Kind/untrusted``. The same holds within a ``CompositeTrustEvaluator``, but not for an
/// evaluator of yours that calls this one.
///
/// ```swift
/// configuration.serverTrustManager = try ServerTrustManager(evaluators: ["api.example.com": RevocationTrustEvaluator()])
/// ```
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// The checks that are demanded.
    public enum Options: Sendable, Hashable, CaseIterable {
        /// Any check: with revocation lists if the session has some for the host, and otherwise with a stapled response.
        case any
        /// A check with revocation lists.
        case revocationLists
        /// A response that the server has sent with the handshake.
        case stapledResponse

        /// Returns whether only a stapled response meets the demand.
        ///
        /// - Parameter hasRevocationLists: Whether the handshake checks revocation lists.
        func needStaple(hasRevocationLists: Bool) -> Bool {
            switch self {
            case .any: !hasRevocationLists
            case .revocationLists: false
            case .stapledResponse: true
            }
        }
    }

    /// The checks that are demanded.
    public let options: Options

    /// Creates an evaluator.
    public init(options: Options = .any) { self.options = options }

    /// Returns if the handshake has made the checks.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/trustRefused``.
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        _ = try evaluateAtOnce(trust, forHost: host)
    }
}

extension RevocationTrustEvaluator: ImmediateTrustEvaluating {
    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport] {
        try trust.requireValidation(forHost: host)
        let isChecked =
            switch options {
            case .any: !trust.revocationChecks.isEmpty
            case .revocationLists: trust.revocationChecks.contains(.revocationLists)
            case .stapledResponse: trust.revocationChecks.contains(.stapledResponse)
            }
        guard isChecked else { throw TrellisError(.serverTrust(.revocationNotChecked(host: host))) }
        return []
    }
}
