import CurlEngine
import HTTPTypes
import Synchronization

/// The permission of a request to be sent: its tokens from the rate limiters and its permit from the circuit breaker. The end of
/// the request is reported to them, however the request ends.
final class LimitPermit: Sendable {
    /// A token of a rate limiter that has admitted the request.
    struct Token: Sendable {
        let limiter: RateLimiter
        let number: Int
    }

    /// The tokens and the permit of the request. Allocated only when the request is admitted, because many requests wait.
    private final class Grant: Sendable {
        let tokens: [Token]
        let permit: Circuit.Permit?

        init(_ tokens: [Token], _ permit: Circuit.Permit?) {
            self.tokens = tokens
            self.permit = permit
        }
    }

    let host: String
    /// The instant from which on the request was delayed.
    private let start: EngineInstant
    /// Whether an exchange has begun with the permit.
    private let hasBegun = Atomic(false)
    /// Whether the request was sent.
    private let hasGoneOut = Atomic(false)
    private let priority: RequestPriority
    private let breaker: CircuitBreaker?
    private let grant = LazyReference<Grant>()
    /// The permit of a request that no rate limiter delays; `nil` if the permit is in the grant.
    private let permit: Circuit.Permit?

    init(of request: Request, breaker: CircuitBreaker?, _ context: CallContext) {
        host = request.limitedHost
        priority = request.priority
        start = context.now
        self.breaker = breaker
        permit = nil
    }

    /// Creates the permission of a request that no rate limiter delays.
    ///
    /// - Throws: The error of a request that the circuit of its host refuses.
    init(of request: Request, enteringCircuitOf breaker: CircuitBreaker, _ context: CallContext) throws {
        let start = context.now
        let entered: (permit: Circuit.Permit, host: String)
        do {
            entered = try breaker.enter(hostIn: request.url, at: start)
        } catch {
            throw Self.completed(error, for: request, context, since: start)
        }
        permit = entered.permit
        host = entered.host
        self.start = start
        self.breaker = breaker
        priority = request.priority
    }

    // MARK: The beginning

    /// Throws an error if the circuit of the host is open.
    func checkCircuit(_ context: CallContext) throws { try breaker?.check(host: host, at: context.now) }

    /// Waits until a limiter admits the request.
    func token(of limiter: RateLimiter, _ context: CallContext) async throws -> Token {
        Token(limiter: limiter, number: try await limiter.enter(host: host, context, priority))
    }

    /// Enters the circuit, and keeps the tokens of all limiters.
    func begin(with tokens: [Token], _ context: CallContext) throws {
        let permit = try breaker?.enter(host: host, at: context.now)
        _ = grant.storeIfNil(Grant(tokens, permit))
    }

    /// Returns the instant from which on the request was delayed, for its first exchange; `nil` for another one, such as through the next
    /// proxy, which the limits have not delayed.
    func takeStart() -> EngineInstant? { hasBegun.exchange(true, ordering: .relaxed) ? nil : start }

    /// Records that the request was sent.
    func recordSending() { hasGoneOut.store(true, ordering: .relaxed) }

    // MARK: The end

    /// Returns the tokens of a request that is not sent to their limiters. Returns the error for its caller.
    @inline(never)
    func abandon(
        _ error: any Error, with tokens: [Token], for request: Request, _ context: CallContext
    ) -> any Error {
        giveBack(tokens, context)
        return Self.completed(error, for: request, context, since: start)
    }

    /// Returns the error of a request that is not sent, with the request and the time that it has waited.
    private static func completed(
        _ error: any Error, for request: Request, _ context: CallContext, since start: EngineInstant
    ) -> any Error {
        guard var error = error as? TrellisError else { return error }
        error.method = request.method
        error.url = URLRedaction.redact(request.url)
        error.phase = .queued
        error.metrics.attemptCount = context.attempt - 1
        error.metrics.total = context.elapsed
        error.metrics.queuedTime = context.now.nanoseconds(since: start)
        return error
    }

    /// Reports the outcome of the request to the limits, and a change of the host's circuit to the observers.
    func end(with result: Result<StepResponse, any Error>, _ context: CallContext) {
        switch result {
        case .success(let answer): end(with: answer.response.status, nil, context)
        case .failure(let error): end(with: nil, error, context)
        }
    }

    /// Reports the response's status, or the error, as ``end(with:_:)`` does.
    @inline(never)
    func end(with status: HTTPResponse.Status?, _ error: (any Error)?, _ context: CallContext) {
        let grant = permit == nil ? grant.load() : nil
        if let grant, !hasGoneOut.load(ordering: .relaxed) { giveBack(grant.tokens, context) }
        guard let breaker, let permit = permit ?? grant?.permit else { return }
        let outcome = CircuitBreaker.Outcome(status: status?.code, error: error)
        guard let change = breaker.leave(permit, outcome, host: host, at: context.now) else { return }
        let kind: RequestEvent.Kind =
            switch change {
            case .opened: .circuitOpened(host: host, for: breaker.openDuration)
            case .closed: .circuitClosed(host: host)
            }
        context.call.observer?.tell(kind, attempt: context.attempt)
        context.call.exchangeObserver?.didChangeCircuit(
            of: host, openFor: change == .opened ? breaker.openDuration : nil, context: context)
    }

    private func giveBack(_ tokens: [Token], _ context: CallContext) {
        for token in tokens { token.limiter.giveBack(token.number, host: host, context) }
    }
}
