import CurlEngine

/// The stages of a call, outermost first. Each function performs one stage and calls the next:
///
/// | stage | runs | function |
/// |---|---|---|
/// | HSTS | once; again where a step or a redirect has changed the URL | ``begin()`` |
/// | application steps | once | ``runApplicationSteps(_:_:)`` |
/// | retries and hedging | once; each attempt is one turn of it | ``attempts(at:)`` |
/// | adapters | for each attempt, until a redirect leaves the origin | ``attempt(_:)`` |
/// | redirects | for each attempt; each hop is one turn of it | ``hops(_:asked:)`` |
/// | network steps | for each hop | ``hop(_:)`` |
/// | cookies | for each exchange: a network step may send several | ``exchange(_:)`` |
/// | cache | for each exchange, which it may make unnecessary | ``exchangeWithCache(_:asked:_:)`` |
/// | rate limits and circuit breaker | for each exchange | ``exchangeWithinLimits(_:)`` |
/// | observation | for each exchange, if it is observed | ``exchangeObserved(_:_:_:)`` |
/// | alternative services | for each exchange, if one is known | ``sendWithAlternatives(_:_:)`` |
/// | proxies | for each exchange, if there are several to try, or addresses behind one | ``sendThroughProxies(_:_:)`` |
/// | trust in the server | for each exchange, if the session has evaluators | ``sendEvaluated(_:_:)`` |
/// | signers | for each exchange, until a redirect leaves the origin | ``sendOnce(_:_:)`` |
/// | the exchange | one request on the wire | ``send(_:_:)``, ``sendOnce(_:_:)`` |
///
/// Thousands of calls may wait in any of these functions. A function that waits keeps only references in its frame. Values that it does not
/// need during the wait are in separate functions, which are `@inline(never)` for that reason.
final class Pipeline: Sendable {
    let session: Session
    let request: RequestActor
    let context: CallContext
    /// The last request of the attempt.
    let last: LastRequest
    /// The exchange for whose response equal requests wait; `nil` if none may wait for the next one.
    let cacheLead: CacheLead?

    var call: Call { context.call }

    var steps: Steps { request.steps.steps }

    /// The exchange that the call's handle has already created.
    var first: ExchangeActor? { isFirst ? request.first : nil }

    private var isFirst: Bool { context.attempt == 1 && context.redirects.isEmpty }

    init(_ request: RequestActor) {
        self.request = request
        session = request.session
        context = CallContext(request.call)
        last = LastRequest(request.predecessor?.prepared ?? request.call)
        cacheLead = nil
    }

    /// Creates the same pipeline in the context of a later attempt or hop.
    private init(_ pipeline: Pipeline, _ context: CallContext, last: LastRequest? = nil) {
        session = pipeline.session
        request = pipeline.request
        self.context = context
        self.last = last ?? pipeline.last
        cacheLead = nil
    }

    /// Creates the same pipeline for an exchange for whose response equal requests wait.
    init(_ pipeline: Pipeline, leading lead: CacheLead) {
        (session, request, context) = (pipeline.session, pipeline.request, pipeline.context)
        last = pipeline.last
        cacheLead = lead
    }

    /// Performs the call, once.
    func run() async throws -> StepResponse {
        if session.mustPrepareUpgrades { await session.prepareUpgrades() }
        let asked = try begin()
        if request.depth == steps.application.count { return try await attempts(at: asked) }
        return try await runApplicationSteps(asked, request.depth)
    }

    /// Continues a direct call after its first attempt: with the redirect that was the response, and with the retriers.
    ///
    /// - Parameter sent: The request of the attempt as it was adapted; `nil` if an adapter has failed.
    func continued(after first: Result<StepResponse, any Error>, sent: Request?) async throws -> StepResponse {
        let asked = try session.asked(by: call)
        var end = end(first)
        if let sent, case .success(let answer) = first, answer.response.status.isRedirect {
            end = await followed(answer, to: sent, steps.adapters.isEmpty ? nil : asked)
        }
        if steps.retriers.isEmpty { return try end.result.get() }
        return try await retried(at: asked, after: end)
    }

    /// Continues a direct call whose adapters have returned.
    func proceed(with adapted: Result<Request, any Error>) async -> Result<StepResponse, any Error> {
        do { return .success(try await continued(with: adapted)) } catch { return .failure(error) }
    }

    private func continued(with adapted: Result<Request, any Error>) async throws -> StepResponse {
        let asked = try session.asked(by: call)
        let end: AttemptEnd =
            switch adapted {
            case .success(let request): await hops(request, asked: asked)
            case .failure(let error): end(.failure(error))
            }
        if steps.retriers.isEmpty { return try end.result.get() }
        return try await retried(at: asked, after: end)
    }

    /// Returns the caller's request with its URL completed by the session.
    @inline(never)
    private func begin() throws -> Request {
        try call.checkCancellation()
        return request.depth == 0 ? try session.asked(by: call, tellsUpgrade: true) : call.request
    }

    /// Runs the application steps, each inside the one before it.
    @inline(never)
    private func runApplicationSteps(_ request: Request, _ depth: Int) async throws -> StepResponse {
        if depth == steps.application.count { return try await attempts(at: request) }
        try call.checkCancellation()
        return try await through(steps.application[depth], request, depth + 1) {
            try await self.runApplicationSteps($0, depth + 1)
        }
    }

    @inline(never)
    private func through(
        _ step: any RequestStep, _ request: Request, _ depth: Int?,
        _ next: @escaping @Sendable (Request) async throws -> StepResponse
    ) async throws -> StepResponse {
        try await step.send(
            request, context: context, next: NextStep(depth: depth, origin: (call, self.request.steps), next)
        )
        .answering(last)
    }

    /// Runs the first attempt, and further attempts if hedging or retriers ask for them.
    @inline(never)
    private func attempts(at request: Request) async throws -> StepResponse {
        if steps.hedging != nil { return try await retried(at: request, hedged: true) }
        let end = await attempt(request)
        if steps.retriers.isEmpty { return try end.result.get() }
        return try await retried(at: request, after: end)
    }

    /// Runs attempts until no retrier asks for another one. Each attempt continues at the hop at which the previous one failed.
    ///
    /// - Parameter first: The end of the first attempt, if that attempt was already made.
    @inline(never)
    private func retried(
        at request: Request, after first: AttemptEnd? = nil, hedged: Bool = false
    ) async throws -> StepResponse {
        var (pipeline, known) = (self, first)
        while true {
            var end: AttemptEnd
            if let known { end = known } else { end = await pipeline.nextAttempt(request, hedged) }
            pipeline = Pipeline(pipeline, end.context, last: end.last)
            end = await pipeline.validated(end)
            guard let wait = try await pipeline.retry(after: end, of: request) else { return try end.result.get() }
            known = nil
            if case .success(let answer) = end.result { await answer.discard(pipeline.context) }
            try await pipeline.context.pause(for: wait)
            pipeline = pipeline.again()
        }
    }

    @inline(never)
    private func again() -> Pipeline {
        var context = context
        context.attempt += 1
        call.observer?.begin(attempt: context.attempt)
        return Pipeline(self, context)
    }

    /// Runs an attempt, and concurrent attempts while its response is late.
    @inline(never)
    private func nextAttempt(_ request: Request, _ hedged: Bool) async -> AttemptEnd {
        guard hedged, let policy = steps.hedging else { return await attempt(request) }
        return await HedgeRace(policy: policy, request: context.hop?.asked ?? request, last: last) { [self] context in
            await Pipeline(self, context, last: LastRequest(besideOthersOf: last)).attempt(request)
        }.run(context)
    }

    /// Runs one attempt: the adapters, and then the hops.
    ///
    /// - Parameter request: The request of the call. After a redirect, the attempt begins with the request of its hop.
    @inline(never)
    private func attempt(_ request: Request) async -> AttemptEnd {
        do {
            let adapted = try await adapted(context.hop?.asked ?? request)
            return await hops(adapted, asked: steps.adapters.isEmpty ? nil : request)
        } catch {
            return end(.failure(error))
        }
    }

    /// Runs the adapters. Their additions are meant for the first origin, so they do not run again for a hop to another origin.
    private func adapted(_ request: Request) async throws -> Request {
        if context.hasLeftOrigin { return context.hop?.adapted ?? request }
        let adapted = session.upgraded(try await self.request.steps.adapt(request, context: context), by: call)
        if isFirst, adapted.url != request.url { recordInBudgets(adapted) }
        return adapted
    }

    /// Records a request in the retry budgets, if its host is another than that of the last request that was recorded.
    @inline(never)
    private func recordInBudgets(_ request: Request) {
        for budget in self.request.steps.budgets { budget.recordRequest(request, of: call) }
    }

    /// Sends a request, and follows the redirects that answer it.
    ///
    /// - Parameter asked: The request of the call, before any adapter has changed it; `nil` if there are no adapters.
    private func hops(_ request: Request, asked: Request?) async -> AttemptEnd {
        do {
            let answer = try await hop(request)
            guard answer.response.status.isRedirect else {
                return end(.success(answer))
            }
            return await followed(answer, to: request, asked)
        } catch {
            return failed(error)
        }
    }

    @inline(never)
    private func followed(_ answer: StepResponse, to request: Request, _ asked: Request?) async -> AttemptEnd {
        var (pipeline, request, answer, isAnswered) = (self, request, answer, true)
        do {
            while let next = try await pipeline.next(after: answer, to: request, asked) {
                (request, pipeline) = next
                isAnswered = false
                answer = try await pipeline.hop(request)
                isAnswered = true
            }
            return pipeline.end(.success(answer))
        } catch {
            return pipeline.failed(error, isAnswered: isAnswered)
        }
    }

    @inline(never)
    private func failed(_ error: any Error, isAnswered: Bool = false) -> AttemptEnd {
        var failure = error
        if var error = error as? TrellisError, error.redirects.isEmpty {
            error.followed = context.redirects
            failure = error
        }
        return end(.failure(failure), isAnswered: isAnswered)
    }

    /// Returns the end of the attempt at this hop.
    @inline(never)
    private func end(_ result: Result<StepResponse, any Error>, isAnswered: Bool = false) -> AttemptEnd {
        AttemptEnd(result: result, context: context, last: last, isAnswered: isAnswered)
    }

    /// Returns the target request of a redirect, with the pipeline in its context; `nil` if the response is not a redirect to follow.
    @inline(never)
    private func next(
        after answer: StepResponse, to request: Request, _ asked: Request?
    ) async throws -> (Request, Pipeline)? {
        guard answer.response.status.isRedirect else { return nil }
        let policy = steps.redirects ?? RedirectPolicy()
        guard
            let (hop, redirect) = try await policy.next(
                after: answer.response, to: request, asked: context.hop?.asked ?? asked,
                handler: steps.redirectHandler,
                context: context, hsts: session.configuration.hsts)
        else { return nil }
        tell { .redirected(redirect) }
        if redirect.isUpgraded { tell { .upgraded(hop.adapted) } }
        recordInBudgets(hop.adapted)
        await answer.discard(context)
        var context = context
        context.follow(redirect, to: hop)
        return (hop.adapted, Pipeline(self, context))
    }

    /// Runs one hop: the steps around it, and inside them the exchanges.
    @inline(never)
    private func hop(_ request: Request) async throws -> StepResponse {
        if isFirst, let answered = self.request.answered { return answered }
        if steps.network.isEmpty { return try await exchange(request) }
        return try await runNetworkSteps(request, 0)
    }

    @inline(never)
    private func runNetworkSteps(_ request: Request, _ depth: Int) async throws -> StepResponse {
        if depth == steps.network.count {
            return session.configuration.hsts == nil ? try await exchange(request) : try await upgradedExchange(request)
        }
        try call.checkCancellation()
        return try await through(steps.network[depth], request, nil) {
            try await self.runNetworkSteps($0, depth + 1)
        }
    }

    /// Runs one exchange whose URL a network step may have changed.
    @inline(never)
    private func upgradedExchange(_ request: Request) async throws -> StepResponse {
        try await exchange(session.upgraded(request, by: call))
    }

    /// Runs one exchange with its cookies. If a network step sends two requests, such as Digest authentication, the second request
    /// includes the cookies of the first response.
    @inline(__always)
    private func exchange(_ request: Request) async throws -> StepResponse {
        try call.checkCancellation()
        return hasCookiesOrCache
            ? try await exchangeWithCookies(request) : try await exchangeWithinLimits(request)
    }

    // Properties of their own keep copies of the steps out of the frames of waiting calls.
    private var hasCookiesOrCache: Bool { steps.cookies != nil || steps.cache != nil }
    private var hasLimits: Bool { steps.hasLimits }

    /// Runs one exchange of the cache. The cookies of stored responses were stored when they were received.
    @inline(never)
    func exchangeForCache(_ request: Request) async throws -> StepResponse {
        let answer = try await exchangeWithinLimits(request)
        if steps.cookies != nil { await keepCookies(of: answer, to: request) }
        return answer
    }

    @inline(never)
    private func exchangeWithCookies(_ request: Request) async throws -> StepResponse {
        if let cache = steps.cache, call.delivery != .connection {
            return try await exchange(await addingCookies(to: request), asked: request, through: cache)
        }
        let answer = try await exchangeWithinLimits(await addingCookies(to: request))
        await keepCookies(of: answer, to: request)
        return answer
    }

    /// Runs one exchange when the limits of its host permit it.
    @inline(__always)
    private func exchangeWithinLimits(_ request: Request) async throws -> StepResponse {
        hasLimits ? try await exchangeInTurn(request) : try await exchangeAtOnce(request)
    }

    @inline(never)
    private func exchangeAtOnce(_ request: Request) async throws -> StepResponse {
        try await exchangeOnRoute(request, nil)
    }

    @inline(never)
    private func exchangeInTurn(_ request: Request) async throws -> StepResponse {
        try await exchange(request, self.request.steps.permit(for: request, context))
    }

    @inline(never)
    private func exchange(_ request: Request, _ permit: LimitPermit) async throws -> StepResponse {
        do {
            let answer = try await exchangeOnRoute(request, permit)
            permit.end(with: .success(answer), context)
            return answer
        } catch {
            permit.end(with: .failure(error), context)
            throw error
        }
    }

    /// Sends a request to its origin, through the proxies of its rule.
    @inline(__always)
    func sendToOrigin(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        session.preparation.mustSelectRoute(for: request)
            ? try await sendThroughProxies(request, permit) : try await send(request, permit)
    }

    @inline(never)
    func tell(_ kind: () -> RequestEvent.Kind) {
        if let observer = call.observer { observer.tell(kind(), attempt: context.attempt) }
    }
}
