/// An evaluator that trusts the servers whose certificates the TLS handshake has checked for revocation.
///
/// The evaluator asks no authority itself: a request to one for each server would tell it which servers are used, and would either block
/// every request while the authority is out of reach, or prove nothing. The checks are made in the handshake, as the session's
/// ``TLSConfiguration`` says: with certificate revocation lists (RFC 5280, section 5), or with a response of the authority that the server
/// sends along (RFC 6066, section 8). The evaluator demands, for its hosts, that such a check was made.
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// The checks that are demanded.
    public enum Options: Sendable, Hashable, CaseIterable {
        /// Any check.
        case any
        /// A check with revocation lists.
        case revocationLists
        /// A response that the server has sent with the handshake.
        case stapledResponse
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
