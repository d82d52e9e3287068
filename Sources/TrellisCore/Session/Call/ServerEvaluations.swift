/// The evaluations of servers by evaluators that take time, for one exchange. Each time, the server has shown other certificates.
struct ServerEvaluations {
    private static let limit = 8

    private var count = 0
    /// The last server. The table keeps the acceptance of its host while this value is held.
    private var server: PendingServerTrust?

    /// Returns the server whose evaluator must be asked before an exchange that has failed begins again.
    ///
    /// - Throws: The error of the exchange if it has another reason, or if the server has changed its certificates too often.
    mutating func next(after error: TrellisError) throws(TrellisError) -> PendingServerTrust {
        guard let pending = error.pendingTrust else { throw error }
        guard count < Self.limit else {
            throw error.because(
                TrellisError(.serverTrust(.changingCertificates(host: pending.trust.host, evaluations: count))))
        }
        count += 1
        server = pending
        return pending
    }
}

extension TrellisError {
    /// Returns the error of an exchange with the reason of another error.
    func because(_ other: TrellisError) -> TrellisError {
        var error = TrellisError(
            other.reason, method: method, phase: phase, metrics: metrics, underlying: other.underlying)
        error.url = url
        error.detail = other.detail
        error.isTrustTimeout = other.isTrustTimeout
        error.isUntried = other.isUntried
        error.followed = followed
        return error
    }
}
