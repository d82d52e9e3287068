import CurlEngine

/// The evaluation of servers by evaluators that take time.
extension Pipeline {
    /// The number of times that evaluators are asked for one exchange. Each time, the server has shown other certificates.
    private static var maximumEvaluations: Int { 8 }

    /// Sends a request to a server whose evaluator may wait. An exchange that reaches a server with unknown certificates ends before any
    /// byte of the request is sent. The evaluator is asked, and then the request is sent again: neither of the two
    /// counts as an attempt.
    @inline(never)
    func sendEvaluated(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        var evaluations = 0
        // The acceptance is that of a host, which the table keeps while it is held.
        var asked: PendingServerTrust?
        defer { withExtendedLifetime(asked) {} }
        while true {
            do {
                return try await sendOnce(request, permit)
            } catch let error as TrellisError {
                guard let pending = error.pendingTrust else { throw error }
                guard evaluations < Self.maximumEvaluations else {
                    throw error.because(
                        TrellisError(
                            .serverTrust(
                                .changingCertificates(host: pending.trust.host, evaluations: evaluations))))
                }
                evaluations += 1
                asked = pending
                try await evaluate(pending, for: request, after: error)
            }
        }
    }

    @inline(never)
    private func evaluate(
        _ pending: PendingServerTrust, for request: Request, after failure: TrellisError
    ) async throws {
        try call.checkCancellation()
        tell { .evaluatingServerTrust(pending.trust) }
        let clock = call.clock
        do {
            try await result(of: .evaluator(host: pending.trust.host), for: request) {
                try await pending.evaluate(clock: clock)
            }
        } catch let error as TrellisError {
            // An evaluator that ends with its task has not decided about the server.
            try call.checkCancellation()
            tell { .serverTrustEvaluated(pending.trust, error) }
            var ended = failure.because(error)
            ended.metrics.total = max(ended.metrics.total, elapsed)
            throw ended
        }
        try call.checkCancellation()
    }
}

/// The files of certificates, which are read before an exchange.
extension Pipeline {
    /// Whether the exchange may have to wait for the files of certificates. A call without an actor has looked already.
    var mayLoadTrust: Bool { actor != nil && session.preparation.mayLoadTrust }

    /// Reads the certificates for a request, if they must be read.
    @inline(never)
    func loadTrust(for request: Request) async throws {
        let preparation = session.preparation
        let changes = try await noting(.trustFiles) {
            try await preparation.loadTrust(for: request, now: call.clock.now()) { fileLimit(for: request) }
        }
        for change in changes {
            tell { .trustFilesChanged(change.paths, change.error) }
        }
    }

    /// Returns the limit on the first read of the files of certificates: that on connecting.
    private func fileLimit(for request: Request) -> TrustFileLimit? {
        let limit = session.preparation.limits(of: request, delivery: call.delivery).connect
        guard let limit else { return nil }
        return TrustFileLimit(
            wait: { try await self.context.pause(for: .nanoseconds(limit)) }, elapsed: { self.elapsed },
            isZero: limit == 0)
    }
}

extension TrellisError {
    /// Returns the error of an exchange with the reason of another error.
    fileprivate func because(_ other: TrellisError) -> TrellisError {
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
