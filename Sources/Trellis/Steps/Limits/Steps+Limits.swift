import CurlEngine

/// How requests on the wire keep to the limits of their hosts.
extension Steps {
    var hasLimits: Bool { circuitBreaker != nil || !rateLimiters.isEmpty }
}

extension AttachedSteps {
    /// Returns when a request's host has a closed circuit and the request's turn has come.
    ///
    /// - Throws: ``TrellisError`` of a kind ``TrellisError/Kind/circuitOpen`` or ``TrellisError/Kind/rateLimited``;
    ///   `CancellationError` in a cancelled task.
    @inline(never)
    func turn(for request: Request, _ context: CallContext) async throws -> LimitTurn {
        let host = request.limitedHost
        let start = context.now
        do {
            // Before the wait, which it saves, and behind it again, because that may be long.
            try steps.circuitBreaker?.check(host: host, at: start)
            for index in steps.rateLimiters.indices {
                try await steps.rateLimiters[index].enter(host: host, context, request.priority)
            }
            let permit = try steps.circuitBreaker?.enter(host: host, at: context.now)
            return LimitTurn(host: host, start: start, breaker: steps.circuitBreaker, permit: permit)
        } catch {
            throw context.naming(error, request, heldSince: start)
        }
    }
}

/// What a request has that may go. The end of it is told, whatever it is.
final class LimitTurn: Sendable {
    let host: String
    /// Since when the request was held up.
    let start: EngineInstant
    private let breaker: CircuitBreaker?
    private let permit: Circuit.Permit?

    init(host: String, start: EngineInstant, breaker: CircuitBreaker?, permit: Circuit.Permit?) {
        self.host = host
        self.start = start
        self.breaker = breaker
        self.permit = permit
    }

    /// Tells the circuit what came of the request.
    func end(with result: Result<StepResponse, any Error>, _ context: CallContext) {
        guard let breaker, let permit else { return }
        let outcome =
            switch result {
            case .success(let answer): CircuitBreaker.Outcome(status: answer.response.status.code, error: nil)
            case .failure(let error): CircuitBreaker.Outcome(status: nil, error: error)
            }
        breaker.leave(permit, outcome, host: host, at: context.now)
    }
}

extension CallContext {
    /// What kept a request from its next attempt, with what belongs to it.
    @inline(never)
    fileprivate func naming(_ error: any Error, _ request: Request, heldSince start: EngineInstant) -> any Error {
        guard var error = error as? TrellisError else { return error }
        error.method = request.method
        error.url = URLRedaction.redact(request.url)
        error.phase = .queued
        error.metrics.attempts = attempt - 1
        error.metrics.total = elapsedTime
        error.metrics.queuedTime = now.nanoseconds(since: start)
        return error
    }
}
