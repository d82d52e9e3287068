/// An evaluator that decides whether a server is trusted, besides the TLS handshake.
///
/// ```swift
/// struct NotSelfMade: ServerTrustEvaluating {
///     func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
///         guard trust.isValidated, trust.chain.count > 1 else { throw Distrust(host: host) }
///     }
/// }
/// configuration.serverTrustManager = try ServerTrustManager(evaluators: ["api.example.com": NotSelfMade()])
/// ```
///
/// An evaluator can only refuse servers: those that the handshake has refused stay refused.
public protocol ServerTrustEvaluating: Sendable {
    /// Returns if the server is trusted, and throws an error if not. Nothing of the request has been sent.
    ///
    /// Your evaluator runs in a task that is cancelled when the call ends, or after ``Timeouts/connect``. It is asked about every chain
    /// that a host has not shown yet with the same version of TLS and cipher suite; calls that need the chain share the result. A trusted
    /// chain is not asked about again for ten minutes. After an error, the next request asks again.
    ///
    /// An evaluator that sends requests needs another session for them: in the same one, they would wait for their own evaluation.
    ///
    /// - Parameters:
    ///   - trust: The certificates of the server.
    ///   - host: The host of the request's URL, in lower case; an IPv6 address is without brackets.
    /// - Throws: Any error. The caller gets a ``TrellisError`` of kind ``TrellisError/Kind/trustRefused``, whose
    ///   ``TrellisError/underlying`` is the error.
    func evaluate(_ trust: ServerTrust, forHost host: String) async throws
}

/// An evaluator that does not wait, so that the engine thread can ask it when the connection is ready.
protocol ImmediateTrustEvaluating: ServerTrustEvaluating {
    /// Whether this evaluator does not wait.
    var isImmediate: Bool { get }
    /// Returns the deviations that are only reported, or throws the error of a server that is not trusted.
    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport]
}

extension ImmediateTrustEvaluating {
    /// The default, `true`.
    var isImmediate: Bool { true }
}

extension ServerTrustEvaluating {
    /// The evaluator, if it does not wait.
    var immediate: (any ImmediateTrustEvaluating)? {
        guard let evaluator = self as? any ImmediateTrustEvaluating, evaluator.isImmediate else { return nil }
        return evaluator
    }

    /// Returns whether the evaluator trusts no server without a stapled OCSP response, which has to be asked for in the handshake then.
    ///
    /// - Parameter hasRevocationLists: Whether the handshake checks revocation lists.
    func needsStaple(hasRevocationLists: Bool) -> Bool {
        if let revocation = self as? RevocationTrustEvaluator {
            return revocation.options.needStaple(hasRevocationLists: hasRevocationLists)
        }
        guard let composite = self as? CompositeTrustEvaluator else { return false }
        return composite.evaluators.contains { $0.needsStaple(hasRevocationLists: hasRevocationLists) }
    }

    /// Returns the deviations that are only reported, or throws the error of a server that is not trusted.
    func reports(on trust: ServerTrust, forHost host: String) async throws -> [ServerTrustReport] {
        if let immediate { return try immediate.evaluateAtOnce(trust, forHost: host) }
        if let composite = self as? CompositeTrustEvaluator {
            var reports: [ServerTrustReport] = []
            for evaluator in composite.evaluators { reports += try await evaluator.reports(on: trust, forHost: host) }
            return reports
        }
        try await evaluate(trust, forHost: host)
        return []
    }
}

extension ServerTrust {
    /// Throws an error unless the handshake has validated the chain.
    func requireValidation(forHost host: String) throws(TrellisError) {
        guard isValidated else { throw TrellisError(.serverTrust(.notValidated(host: host))) }
    }
}
