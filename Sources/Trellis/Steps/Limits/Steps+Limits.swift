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
        var tokens: [RateToken] = []
        do {
            // Before the wait, which it saves, and behind it again, because that may be long.
            try steps.circuitBreaker?.check(host: host, at: start)
            for index in steps.rateLimiters.indices {
                let token = try await steps.rateLimiters[index].enter(host: host, context, request.priority)
                tokens.append(RateToken(limiter: steps.rateLimiters[index], number: token))
            }
            let permit = try steps.circuitBreaker?.enter(host: host, at: context.now)
            return LimitTurn(host: host, start: start, tokens: tokens, breaker: steps.circuitBreaker, permit: permit)
        } catch {
            tokens.giveBack(host: host, context)
            throw context.naming(error, request, heldSince: start)
        }
    }
}

/// What a request has that may go. The end of it is told, whatever it is.
final class LimitTurn: Sendable {
    let host: String
    /// Since when the request was held up.
    let start: EngineInstant
    /// Whether the request has gone out.
    let starts = StartCount()
    private let tokens: [RateToken]
    private let breaker: CircuitBreaker?
    private let permit: Circuit.Permit?

    init(
        host: String, start: EngineInstant, tokens: [RateToken], breaker: CircuitBreaker?, permit: Circuit.Permit?
    ) {
        self.host = host
        self.start = start
        self.tokens = tokens
        self.breaker = breaker
        self.permit = permit
    }

    /// Tells the limits what came of the request, and the observers what that means for the host.
    func end(with result: Result<StepResponse, any Error>, _ context: CallContext) {
        if starts.value == 0 { tokens.giveBack(host: host, context) }
        guard let breaker, let permit else { return }
        let outcome =
            switch result {
            case .success(let answer): CircuitBreaker.Outcome(status: answer.response.status.code, error: nil)
            case .failure(let error): CircuitBreaker.Outcome(status: nil, error: error)
            }
        let kind: RequestEvent.Kind? =
            switch breaker.leave(permit, outcome, host: host, at: context.now) {
            case .opened: .circuitOpened(host: host, for: breaker.openDuration)
            case .closed: .circuitClosed(host: host)
            case nil: nil
            }
        if let kind { context.call.observer?.tell(kind, attempt: context.attempt) }
    }
}

/// A request that a rate limit has let go.
struct RateToken: Sendable {
    let limiter: RateLimiter
    let number: Int
}

extension [RateToken] {
    fileprivate func giveBack(host: String, _ context: CallContext) {
        for token in self { token.limiter.giveBack(token.number, host: host, context) }
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
