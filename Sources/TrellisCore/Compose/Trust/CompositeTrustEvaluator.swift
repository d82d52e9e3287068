/// An evaluator that trusts the servers that all of several evaluators trust. The evaluators are asked in order, up to the first error.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    /// The evaluators, in order.
    public let evaluators: [any ServerTrustEvaluating]

    /// Creates the evaluator.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the list is empty, which would trust every server.
    public init(evaluators: [any ServerTrustEvaluating]) throws(TrellisError) {
        guard !evaluators.isEmpty else {
            throw TrellisError(.invalidRequest(.trustEvaluator("a composite evaluator needs evaluators")))
        }
        self.evaluators = evaluators
    }

    /// Returns if all evaluators do.
    ///
    /// - Throws: The error of the first evaluator that throws one.
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        for evaluator in evaluators { try await evaluator.evaluate(trust, forHost: host) }
    }
}

extension CompositeTrustEvaluator: ImmediateTrustEvaluating {
    var isImmediate: Bool { evaluators.allSatisfy { $0.immediate != nil } }

    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport] {
        var reports: [ServerTrustReport] = []
        for evaluator in evaluators {
            guard let immediate = evaluator.immediate else { continue }
            reports += try immediate.evaluateAtOnce(trust, forHost: host)
        }
        return reports
    }
}
