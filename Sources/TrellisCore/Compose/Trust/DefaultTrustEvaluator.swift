/// An evaluator that trusts every server whose chain and host name the TLS handshake has validated.
///
/// The handshake does that for every host already. The evaluator marks a host as one without further conditions, where
/// ``ServerTrustManager/allHostsMustBeEvaluated`` demands an evaluator for each host. It fails in a session without verification
/// (``TLSConfiguration/insecureWithoutAnyVerification()``).
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
    /// Creates the evaluator.
    public init() {}

    /// Returns if the handshake has validated the server.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/trustRefused``.
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        _ = try evaluateAtOnce(trust, forHost: host)
    }
}

extension DefaultTrustEvaluator: ImmediateTrustEvaluating {
    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport] {
        try trust.requireValidation(forHost: host)
        return []
    }
}

/// An evaluator that trusts every server that the TLS handshake has accepted, whether it was validated or not.
///
/// The evaluator does not change the handshake: a session that verifies certificates refuses a self-signed one before any evaluator is
/// asked. To reach such a server, trust its certificate as an authority (``TLSConfiguration``).
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    /// Creates the evaluator.
    public init() {}

    /// Returns.
    ///
    /// - Throws: Nothing.
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {}
}

extension DisabledTrustEvaluator: ImmediateTrustEvaluating {
    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport] { [] }
}
