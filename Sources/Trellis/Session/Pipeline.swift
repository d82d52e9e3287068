import CurlEngine
import FoundationEssentials

/// The journey of a request, in the order in which it happens.
extension Session {
    /// Sends a request and receives the whole answer.
    func collect(_ convertible: some RequestConvertible) async throws -> CollectedResponse {
        let start = clock.now()
        // Compose: what is asked.
        let request = try convertible.asRequest()
        // Steps: what surrounds the attempts, on a journey of its own.
        if hasSteps(request) { return try await call(request, isCollected: true, start: start).collected().pair }
        // Session: completed with the defaults, and checked. Exchange: an actor, which waits for its turn, hands itself to
        // the transport and receives.
        let attempt = try attempt(preparation.prepare(request, isCollected: true, start: start))
        let (body, response) = try await attempt.collected()
        guard response.mayRedirect else { return (body, response) }
        // Steps: the journey goes on from here.
        let answer = StepResponse(response: response, body: body)
        return try await call(request, isCollected: true, start: start, answered: answer).collected().pair
    }

    /// The same, with the request that was answered.
    func answer(_ convertible: some RequestConvertible) async throws -> Answer {
        let start = clock.now()
        let request = try convertible.asRequest()
        if hasSteps(request) { return try await call(request, isCollected: true, start: start).collected() }
        let attempt = try attempt(preparation.prepare(request, isCollected: true, start: start))
        let answer = try await attempt.answer()
        guard answer.response.mayRedirect else { return answer }
        let first = StepResponse(response: answer.response, body: answer.body ?? Data())
        return try await call(request, isCollected: true, start: start, answered: first).collected()
    }

    /// Sends a request and returns as soon as the head has come.
    func open(_ convertible: some RequestConvertible) async throws -> StreamResponse {
        let start = clock.now()
        let request = try convertible.asRequest()
        if hasSteps(request) {
            return StreamResponse(try await call(request, isCollected: false, start: start).answer())
        }
        let prepared = try preparation.prepare(request, isCollected: false, start: start)
        let answer = try await stream(attempt(prepared)) { try await $0.head(inbox: $1) }
        guard answer.response.mayRedirect else { return StreamResponse(answer) }
        return StreamResponse(
            try await call(request, isCollected: false, start: start, answered: answer).answer())
    }

    private func hasSteps(_ request: Request) -> Bool {
        request.attachment != nil || !configuration.steps.isEmpty || hub.isObserved
    }

    /// A request as an actor that has not started.
    private func attempt(_ prepared: PreparedRequest) -> RequestActor {
        RequestActor(
            prepared, executor: engine, transport: transport, admission: actor,
            flow: flow(of: prepared.transportRequest.request))
    }

    /// A request for a handle, which starts it. What no step can change is found out now: whether it can be sent.
    func deferredCall(_ convertible: some RequestConvertible) throws -> CallActor {
        let request = try convertible.asRequest()
        guard !hasSteps(request) else { return call(request, isCollected: true) }
        let prepared = try preparation.prepare(request, isCollected: true, start: clock.now(), isDeferred: true)
        return call(request, isCollected: true, first: attempt(prepared))
    }

    /// A request with its steps, which has not started.
    ///
    /// - Parameters:
    ///   - start: When the call was made; `nil`: when it is started.
    ///   - first: The first attempt, where no step has a say in it.
    ///   - answered: What the first attempt has brought already.
    private func call(
        _ request: Request, isCollected: Bool, start: EngineInstant? = nil, first: RequestActor? = nil,
        answered: StepResponse? = nil
    ) -> CallActor {
        let steps = configuration.steps.followed(by: request.steps)
        let limit = preparation.limits(of: request).total
        return CallActor(
            request, first: first, start: start, limit: limit, executor: engine, clock: clock, hub: hub
        ) { [self] call, deadline in
            var journey = Journey(session: self, call: call, steps: steps, isCollected: isCollected, deadline: deadline)
            journey.answered = answered
            return try await journey.answer(to: request)
        }
    }

    /// The answer of an attempt whose head is awaited in some way.
    private func stream(
        _ attempt: RequestActor, _ head: (RequestActor, BodyInbox) async throws -> Response
    ) async throws -> StepResponse {
        let inbox = BodyInbox {
            attempt.enter { $0.readerHasDrained() }
        } whenAbandoned: {
            attempt.enter { $0.cancel(CancellationError()) }
        }
        let response = try await head(attempt, inbox)
        // The session lives as long as its streams.
        let source = StreamSource(inbox: inbox, request: attempt, session: self)
        return StepResponse(response: response, content: .source(ReaderToken(source)))
    }

    /// One request on the wire, as part of a call.
    fileprivate func exchange(_ request: Request, _ journey: Journey) async throws -> StepResponse {
        let attempt = try journey.first ?? nextAttempt(request, journey)
        guard journey.isCollected else {
            return try await stream(attempt) { try await journey.call.head($0, inbox: $1) }
        }
        let (body, response) = try await journey.call.collected(attempt)
        return StepResponse(response: response, body: body)
    }

    private func nextAttempt(_ request: Request, _ journey: Journey) throws -> RequestActor {
        let context = journey.context
        let history = AttemptHistory(
            earlierAttempts: context.attempt - 1, redirects: context.redirects, hasLeftOrigin: context.hasLeftOrigin,
            start: clock.now(),
            observer: journey.call.observer)
        let prepared = try preparation.prepare(
            request, isCollected: journey.isCollected, start: context.deadline.start, history: history)
        journey.call.sent.withLock { $0 = prepared.transportRequest.request }
        return attempt(prepared)
    }
}

/// A call on its way through everything that surrounds its attempts. The order is that of the functions.
private struct Journey: Sendable {
    let session: Session
    let call: CallActor
    let steps: Steps
    /// The answer is collected in memory.
    let isCollected: Bool
    var context: CallContext

    /// What the first request on the wire has brought already.
    var answered: StepResponse?

    /// What the call's handle has made already.
    var first: RequestActor? { isFirst ? call.first : nil }

    private var isFirst: Bool { context.attempt == 1 && context.redirects.isEmpty }

    init(session: Session, call: CallActor, steps: Steps, isCollected: Bool, deadline: CallDeadline) {
        self.session = session
        self.call = call
        self.steps = steps
        self.isCollected = isCollected
        context = CallContext(id: call.id, deadline: deadline)
    }

    /// Once a call: the steps around it, and inside of them the attempts.
    func answer(to request: Request) async throws -> StepResponse {
        let request = try session.preparation.completingURL(of: request)
        return try await through(steps.calls[...], request) { try await attempts(at: $0) }
    }

    /// As often as the retriers want.
    private func attempts(at request: Request) async throws -> StepResponse {
        var journey = self
        while true {
            let result = await journey.attempt(request)
            guard let wait = try await journey.retry(after: result, of: request) else { return try result.get() }
            call.observer?.tell(.retrying(after: wait, because: result.failure))
            try await journey.pause(wait)
            journey.context.attempt += 1
            call.observer?.begin(attempt: journey.context.attempt)
        }
    }

    /// Once an attempt: the adapters, and then the request on its way.
    private func attempt(_ request: Request) async -> Result<StepResponse, any Error> {
        do {
            var request = request
            for adapter in steps.adapters {
                request = try await adapter.adapt(request, context: context)
                call.observer?.tell(.adapted(request))
            }
            return .success(try await hops(request))
        } catch {
            return .failure(error)
        }
    }

    /// As far as redirects lead.
    private func hops(_ request: Request) async throws -> StepResponse {
        var journey = self
        var request = request
        while true {
            let answer = try await journey.hop(request)
            let policy = steps.redirects ?? RedirectPolicy()
            guard
                let (next, redirect) = try await policy.next(
                    after: answer.response, to: request, handler: steps.redirectHandler, context: journey.context)
            else { return answer }
            call.observer?.tell(.redirected(redirect))
            await answer.discard()
            journey.context.follow(redirect)
            request = next
        }
    }

    /// Once a request on the wire: with its cookies, the steps around it, and inside of them the exchange.
    private func hop(_ request: Request) async throws -> StepResponse {
        if isFirst, let answered { return answered }
        guard let jar = steps.cookies, let url = CookieURL(request.url) else {
            return try await exchange(request)
        }
        let answer = try await exchange(request.adding(await jar.cookies(for: url)))
        let fields = answer.response.headerFields[values: .setCookie]
        if !fields.isEmpty { await jar.store(fields, from: url) }
        return answer
    }

    private func exchange(_ request: Request) async throws -> StepResponse {
        try await through(steps.attempts[...], request) { try await session.exchange($0, self) }
    }

    /// One step inside of the other.
    private func through(
        _ steps: ArraySlice<any RequestStep>, _ request: Request,
        _ innermost: @escaping @Sendable (Request) async throws -> StepResponse
    ) async throws -> StepResponse {
        try Task.checkCancellation()
        guard let step = steps.first else { return try await innermost(request) }
        return try await step.send(
            request, context: context, next: NextStep { try await through(steps.dropFirst(), $0, innermost) })
    }

    // MARK: Retries

    /// How long to wait before the next attempt; `nil`: the result stands.
    private func retry(after result: Result<StepResponse, any Error>, of request: Request) async throws -> Duration? {
        guard !steps.retriers.isEmpty, let failed = call.failedAttempt(result) else { return nil }
        for retrier in steps.retriers {
            try Task.checkCancellation()
            switch await retrier.retry(failed, context: context) {
            case .doNotRetry: continue
            case .doNotRetryWithError(let error): throw error
            case .retry: return try mayRetry(failed, of: request, after: .zero)
            case .retryAfter(let delay): return try mayRetry(failed, of: request, after: max(delay, .zero))
            }
        }
        return nil
    }

    private func mayRetry(_ failed: FailedAttempt, of request: Request, after delay: Duration) throws -> Duration? {
        if let remaining = context.remainingTime, delay >= remaining { return nil }
        guard request.body?.isReplayable ?? true else { throw failed.isNotReplayable }
        return delay
    }

    /// Waits on the session's clock.
    private func pause(_ duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        guard try await session.engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension Response {
    /// Its status is that of a redirect, followed or not.
    fileprivate var mayRedirect: Bool { (300..<400).contains(responseHead.status.code) }
}
