import CurlEngine
import Synchronization

/// What a request has that may go. The end of it is told, whatever it is.
final class LimitTurn: StartPermission {
    /// A rate limit that has let the request go.
    struct Token: Sendable {
        let limiter: RateLimiter
        let number: Int
    }

    /// What the request has been given. Made when it may go: those who wait are many.
    private final class Grant: Sendable {
        let tokens: [Token]
        let permit: Circuit.Permit?

        init(_ tokens: [Token], _ permit: Circuit.Permit?) {
            self.tokens = tokens
            self.permit = permit
        }
    }

    let host: String
    /// Since when the request was held up.
    let start: EngineInstant
    private let hasGoneOut = Atomic(false)
    private let priority: RequestPriority
    private let breaker: CircuitBreaker?
    private let grant = AtomicLazyReference<Grant>()

    init(of request: Request, breaker: CircuitBreaker?, _ context: CallContext) {
        host = request.limitedHost
        priority = request.priority
        start = context.now
        self.breaker = breaker
    }

    // MARK: The beginning

    func checkCircuit(_ context: CallContext) throws { try breaker?.check(host: host, at: context.now) }

    /// Waits until a limiter lets the request go.
    func token(of limiter: RateLimiter, _ context: CallContext) async throws -> Token {
        Token(limiter: limiter, number: try await limiter.enter(host: host, context, priority))
    }

    /// Enters the circuit, with the tokens of all limiters.
    func begin(with tokens: [Token], _ context: CallContext) throws {
        let permit = try breaker?.enter(host: host, at: context.now)
        _ = grant.storeIfNil(Grant(tokens, permit))
    }

    func isUsed() { hasGoneOut.store(true, ordering: .relaxed) }

    // MARK: The end

    /// The request does not go out. Returns what its caller gets.
    @inline(never)
    func abandon(
        _ error: any Error, with tokens: [Token], _ request: Request, _ context: CallContext
    ) -> any Error {
        giveBack(tokens, context)
        guard var error = error as? TrellisError else { return error }
        error.method = request.method
        error.url = URLRedaction.redact(request.url)
        error.phase = .queued
        error.metrics.attempts = context.attempt - 1
        error.metrics.total = context.elapsedTime
        error.metrics.queuedTime = context.now.nanoseconds(since: start)
        return error
    }

    /// Tells the limits what came of the request, and the observers what that means for the host.
    @inline(never)
    func end(with result: Result<StepResponse, any Error>, _ context: CallContext) {
        guard let grant = grant.load() else { return }
        if !hasGoneOut.load(ordering: .relaxed) { giveBack(grant.tokens, context) }
        guard let breaker, let permit = grant.permit else { return }
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

    private func giveBack(_ tokens: [Token], _ context: CallContext) {
        for token in tokens { token.limiter.giveBack(token.number, host: host, context) }
    }
}
