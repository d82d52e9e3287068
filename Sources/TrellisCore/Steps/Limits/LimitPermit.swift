import CurlEngine
import HTTPTypes
import Synchronization

/// The permission of a request to be sent: its tokens from the rate limiters, its slot within the concurrency limit and its permit from the
/// circuit breaker. The end of the request is reported to them, however the request ends.
final class LimitPermit: Sendable {
    /// A token of a rate limiter that has admitted the request.
    struct Token: Sendable {
        let limiter: RateLimiter
        let number: Int
    }

    /// What the request has got from its limits while it waits for further ones.
    struct Passes: Sendable {
        var tokens: [Token] = []
        var slot: ConcurrencySlot?
    }

    /// What the request has got from all limits. Allocated only when the request is admitted, because many requests wait.
    private final class Grant: Sendable {
        let passes: Passes
        let permit: Circuit.Permit?

        init(_ passes: Passes, _ permit: Circuit.Permit?) {
            self.passes = passes
            self.permit = permit
        }
    }

    private let host: String
    /// The host with the endpoint, if the origin has several, for the circuit and the concurrency limit.
    private let peer: String
    /// The instant from which on the request was delayed.
    private let start: EngineInstant
    /// Whether an exchange has begun with the permit.
    private let hasBegun = Atomic(false)
    /// Whether the request was sent.
    private let hasGoneOut = Atomic(false)
    private let priority: RequestPriority
    private let breaker: CircuitBreaker?
    private let grant = LazyReference<Grant>()
    /// The permit of a request that no limit delays; `nil` if the permit is in the grant.
    private let permit: Circuit.Permit?

    init(of request: Request, breaker: CircuitBreaker?, _ context: CallContext) {
        host = request.limitedHost
        peer = request.limitedPeer
        priority = request.priority
        start = context.now
        self.breaker = breaker
        permit = nil
    }

    /// Creates the permission of a request that no limit delays.
    ///
    /// - Throws: The error of a request that the circuit of its host refuses.
    init(of request: Request, enteringCircuitOf breaker: CircuitBreaker, _ context: CallContext) throws {
        let start = context.now
        let entered: (permit: Circuit.Permit, host: String)
        do {
            if request.extras?.extras.endpoint == nil {
                entered = try breaker.enter(hostIn: request.url, at: start)
            } else {
                let peer = request.limitedPeer
                entered = (try breaker.enter(host: peer, at: start), peer)
            }
        } catch {
            throw Self.completed(error, for: request, context, since: start)
        }
        permit = entered.permit
        (host, peer) = (entered.host, entered.host)
        self.start = start
        self.breaker = breaker
        priority = request.priority
    }

    // MARK: The beginning

    /// Throws an error if the circuit of the host is open.
    func checkCircuit(_ context: CallContext) throws { try breaker?.check(host: peer, at: context.now) }

    /// Waits until a limiter admits the request.
    func token(of limiter: RateLimiter, _ context: CallContext) async throws -> Token {
        Token(limiter: limiter, number: try await limiter.enter(host: host, context, priority))
    }

    /// Waits until a concurrency limit has room for the request.
    func slot(of limit: AdaptiveConcurrency, _ context: CallContext) async throws -> ConcurrencySlot {
        try await limit.enter(host: peer, context, priority)
    }

    /// Enters the circuit, and keeps what the request has got from the other limits.
    func begin(with passes: Passes, _ context: CallContext) throws {
        let permit = try breaker?.enter(host: peer, at: context.now)
        _ = grant.storeIfNil(Grant(passes, permit))
    }

    /// Returns the instant from which on the request was delayed, for its first exchange; `nil` for another one, such as through the next
    /// proxy, which the limits have not delayed.
    func takeStart() -> EngineInstant? { hasBegun.exchange(true, ordering: .relaxed) ? nil : start }

    /// Records that the request was sent.
    func recordSending(at now: EngineInstant) {
        hasGoneOut.store(true, ordering: .relaxed)
        grant.load()?.passes.slot?.send(at: now)
    }

    // MARK: The end

    /// Returns what a request that is not sent has got to its limits. Returns the error for its caller.
    @inline(never)
    func abandon(
        _ error: any Error, with passes: Passes, for request: Request, _ context: CallContext
    ) -> any Error {
        giveBack(passes.tokens, context)
        passes.slot?.leave()
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

    /// The slot of the request within the concurrency limit of its host, if there is one. It is left when the response is complete.
    var slot: ConcurrencySlot? { permit == nil ? grant.load()?.passes.slot : nil }

    /// Reports the head of the response, or the error, to the limits, and the changes of the host's circuit and concurrency to the
    /// observers.
    @inline(never)
    func end(with response: Response?, _ error: (any Error)?, _ context: CallContext) {
        let grant = permit == nil ? grant.load() : nil
        if let grant, !hasGoneOut.load(ordering: .relaxed) { giveBack(grant.passes.tokens, context) }
        if let slot = grant?.passes.slot { end(slot, with: response, error: error, context) }
        guard let breaker, let permit = permit ?? grant?.permit else { return }
        let outcome = CircuitBreaker.Outcome(status: response?.status.code, error: error)
        guard let change = breaker.leave(permit, outcome, host: peer, at: context.now) else { return }
        let kind: RequestEvent.Kind =
            switch change {
            case .opened: .circuitOpened(host: peer, for: breaker.openDuration)
            case .closed: .circuitClosed(host: peer)
            }
        context.call.observer?.tell(kind, attempt: context.attempt)
        context.call.exchangeObserver?.didChangeCircuit(
            of: peer, openFor: change == .opened ? breaker.openDuration : nil, context: context)
    }

    private func end(
        _ slot: ConcurrencySlot, with response: Response?, error: (any Error)?, _ context: CallContext
    ) {
        let outcome: ConcurrencyLimit.Outcome =
            if let error { .init(error) } else if let response {
                .init(response.head, latency: slot.latency(of: response.metrics, since: context.call.beginning))
            } else { .neutral }
        guard let reduction = slot.end(outcome) else { return }
        let kind = RequestEvent.Kind.concurrencyReduced(host: peer, limit: reduction.limit, pause: reduction.pause)
        context.call.observer?.tell(kind, attempt: context.attempt)
    }

    private func giveBack(_ tokens: [Token], _ context: CallContext) {
        for token in tokens { token.limiter.giveBack(token.number, host: host, context) }
    }
}
