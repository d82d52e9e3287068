import CurlEngine
import Synchronization

/// The stages of a call, outermost first. Each function performs one stage and calls the next:
///
/// | stage | runs | function |
/// |---|---|---|
/// | HSTS | once; again where a step or a redirect has changed the URL | ``begin()``, ``beginHere()`` |
/// | application steps | once | ``runApplicationSteps(_:_:)`` |
/// | retries and hedging | once; each attempt is one turn of it | ``attempts(at:)`` |
/// | adapters | for each attempt, until a redirect leaves the origin | ``attempt(_:)`` |
/// | redirects | for each attempt; each hop is one turn of it | ``hops(_:asked:)`` |
/// | network steps | for each hop | ``hop(_:)`` |
/// | cookies | for each exchange: a network step may send several | ``exchangeWithCookies(_:)`` |
/// | cache | for each exchange, which it may make unnecessary | ``exchangeThroughCache(_:)`` |
/// | rate limits and circuit breaker | for each exchange | ``exchangeInTurn(_:)`` |
/// | observation | for each exchange, if it is observed | ``exchangeObserved(_:_:_:)`` |
/// | alternative services | for each exchange, if one is known | ``sendWithAlternatives(_:_:)`` |
/// | proxies | for each exchange, if there are several to try, or addresses behind one | ``sendThroughProxies(_:_:)`` |
/// | trust in the server | for each exchange, if the session has evaluators | ``sendEvaluated(_:_:)`` |
/// | signers | for each exchange, until a redirect leaves the origin | ``makeSignedExchange(_:_:_:)`` |
/// | the exchange | one request on the wire | ``sendOnce(_:_:)`` |
///
/// A call has an actor if a step may wait, or if it is a handle's: its pipeline then runs in a task that the deadline can cancel. Any other
/// call of a verb waits for its exchanges alone, which have the call's deadline, so that its pipeline runs in the caller's task
/// (``performHere()``). Where such a call has to wait for something else, a stage ends its attempt with ``NeedsTask``; the call gets its
/// actor, and continues there.
///
/// Thousands of calls may wait in any of these functions. A function that waits keeps only references in its frame. Values that it does not
/// need during the wait are in separate functions, which are `@inline(never)` for that reason.
final class Pipeline: Sendable {
    let session: Session
    /// The steps of the session and of the request.
    let attached: AttachedSteps
    /// The actor of the call; `nil` if the call waits for its exchanges alone.
    let actor: RequestActor?
    /// The conditions that the caller has of the response, if the call has no actor, which would have them.
    let conditions: ReadingConditions?
    let context: CallContext
    /// The last request of the attempt.
    let last: LastRequest
    /// The exchange for whose response equal requests wait; `nil` if none may wait for the next one.
    let cacheLead: CacheLead?

    var call: Call { context.call }

    var steps: Steps { attached.steps }

    var isFirst: Bool { context.attempt == 1 && context.redirects.isEmpty }

    /// The end of an attempt that has to wait in a task that the deadline can cancel.
    struct NeedsTask: Error {
        enum Rest: Sendable {
            /// The hop begins again.
            case hop(Request)
            /// The handler of redirects is asked about the answer to a request.
            case redirect(StepResponse, to: Request)
        }

        let rest: Rest
    }

    init(_ actor: RequestActor) {
        self.actor = actor
        (session, attached, conditions) = (actor.session, actor.steps, nil)
        context = CallContext(actor.call)
        last = LastRequest(actor.call)
        cacheLead = nil
    }

    /// Creates the pipeline of a call without an actor.
    init(_ call: Call, _ attached: AttachedSteps, for conditions: ReadingConditions?, session: Session) {
        (self.session, self.attached, self.conditions) = (session, attached, conditions)
        actor = nil
        context = CallContext(call)
        last = LastRequest(call)
        cacheLead = nil
    }

    /// Creates the same pipeline in the context of a later attempt or hop.
    private init(_ pipeline: Pipeline, _ context: CallContext, last: LastRequest? = nil, actor: RequestActor? = nil) {
        (session, attached, conditions) = (pipeline.session, pipeline.attached, pipeline.conditions)
        self.actor = actor ?? pipeline.actor
        self.context = context
        self.last = last ?? pipeline.last
        cacheLead = nil
    }

    /// Creates the same pipeline for an exchange for whose response equal requests wait.
    init(_ pipeline: Pipeline, leading lead: CacheLead) {
        (session, attached, conditions) = (pipeline.session, pipeline.attached, pipeline.conditions)
        (actor, context, last) = (pipeline.actor, pipeline.context, pipeline.last)
        cacheLead = lead
    }

    // MARK: The call

    /// Performs a call that has an actor, once.
    func run() async throws -> StepResponse {
        if session.mustPrepareUpgrades { await session.prepareUpgrades() }
        let asked = try begin()
        if depth == steps.application.count { return try await attempts(at: asked) }
        return try await runApplicationSteps(asked, depth)
    }

    /// Performs a call without an actor, once, in the caller's task.
    func performHere() async throws -> StepResponse {
        defer { leave() }
        let end = await attempt(try beginHere())
        if isContinued(end) { return try await continued(after: end) }
        return try session.ended(call, with: end.result).get()
    }

    /// The number of application steps that ran before this pipeline begins.
    private var depth: Int { actor?.depth ?? 0 }

    /// Returns the caller's request with its URL completed by the session.
    @inline(never)
    private func begin() throws -> Request {
        try call.checkCancellation()
        return depth == 0 ? try session.asked(by: call, tellsUpgrade: true) : call.request
    }

    // MARK: Calls without an actor

    /// Does the same as ``begin()``. The error is that of the call.
    @inline(never)
    private func beginHere() throws -> Request {
        do {
            let asked = try begin()
            // While adapters run, the session knows the call by its list.
            if !attached.adapters.isEmpty { try enter() }
            return asked
        } catch {
            throw session.ended(call, with: error)
        }
    }

    /// Whether a call without an actor is in the session's list.
    var isListed: Bool { call.listPosition.load(ordering: .relaxed) >= 0 }

    /// Adds a call without an actor to the session's list, unless it is there. A session that drains waits for the calls in the list, and
    /// sends what they still need.
    func enter() throws {
        guard !isListed else { return }
        session.actor.calls.add(call)
        // The session looks at the list after it has refused new calls: it has found this call, or this call finds that.
        guard !session.life.isShutDown else { throw TrellisError.sessionIsShutDown }
    }

    /// Removes a call without an actor from the session's list, when the call has ended.
    @inline(never)
    private func leave() {
        // A clock that is set by hand waits for calls.
        if session.hasOwnClock { call.record.withLock { $0.isDecided = true } }
        guard isListed else { return }
        session.actor.calls.remove(call)
        if session.life.isShutDown { session.actor.submit { $0.resumeIfEmpty() } }
    }

    /// Returns whether a call without an actor continues after its first attempt, in a task: retriers are asked, or a stage has to wait.
    @inline(never)
    private func isContinued(_ end: AttemptEnd) -> Bool {
        switch end.result {
        case .failure(is NeedsTask): return true
        case .failure(let error):
            guard !steps.retriers.isEmpty else { return false }
            if let sent = end.last.value as? PreparedRequest { return sent.history?.endsCall(error, of: sent) != true }
            return !(error is CancellationError) && (error as? TrellisError)?.isCancellation != true
        case .success(let answer):
            guard !steps.retriers.isEmpty else { return false }
            if answer.response.status.code >= 400 || answer.data == nil && attached.waitsForFirstByte { return true }
            return conditions.map { !$0.accept(answer.response.head, of: answer.sent.sentRequest) } ?? false
        }
    }

    /// Continues a call after its first attempt with an actor.
    @inline(never)
    private func continued(after end: AttemptEnd) async throws -> StepResponse {
        let actor = session.makeRequest(continuing: call, attached, after: end)
        return try await actor.proceed(conditions) {
            do {
                return .success(try await Pipeline(self, end.context, last: end.last, actor: actor).proceed(after: end))
            } catch {
                return .failure(error)
            }
        }
    }

    private func proceed(after first: AttemptEnd) async throws -> StepResponse {
        let asked = try session.asked(by: call)
        var end = first
        if case .failure(let error as NeedsTask) = first.result {
            let original = steps.adapters.isEmpty ? nil : asked
            switch error.rest {
            case .hop(let request): end = await hops(request, asked: original)
            case .redirect(let answer, let request): end = await followed(answer, to: request, original)
            }
        }
        if steps.retriers.isEmpty { return try end.result.get() }
        return try await retried(at: asked, after: end)
    }

    // MARK: Application steps

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
            request, context: context, next: NextStep(depth: depth, origin: (call, attached), next)
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
            guard let wait = try await pipeline.decision(on: end, of: request) else { return try end.result.get() }
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
    @inline(__always)
    private func attempt(_ request: Request) async -> AttemptEnd {
        do {
            let adapted = try await adapted(context.hop?.asked ?? request)
            return await hops(adapted, asked: steps.adapters.isEmpty ? nil : request)
        } catch {
            return end(.failure(error))
        }
    }

    /// Runs the adapters. Their additions are meant for the first origin, so they do not run again for a hop to another origin.
    @inline(__always)
    private func adapted(_ request: Request) async throws -> Request {
        var (adapted, index) = (request, 0)
        if try adaptAtOnce(&adapted, from: &index) { return adapted }
        return try await adaptWaiting(adapted, from: index, request)
    }

    /// Runs the adapters that do not wait. Returns whether that was all of them.
    @inline(never)
    private func adaptAtOnce(_ request: inout Request, from index: inout Int) throws -> Bool {
        if context.hasLeftOrigin {
            if let hop = context.hop { request = hop.adapted }
            return true
        }
        guard !attached.adapters.isEmpty || session.configuration.secureHosts != nil else { return true }
        let asked = request
        if try attached.adaptAtOnce(&request, from: &index, context: context) != nil { return false }
        complete(&request, from: asked)
        return true
    }

    @inline(never)
    private func adaptWaiting(_ request: Request, from index: Int, _ asked: Request) async throws -> Request {
        var adapted = try await attached.adapt(request, from: index, context: context)
        complete(&adapted, from: asked)
        return adapted
    }

    /// Completes a request that adapters have changed.
    private func complete(_ request: inout Request, from asked: Request) {
        if session.configuration.secureHosts != nil { request = session.upgraded(request, by: call) }
        if isFirst, request.url != asked.url { recordInBudgets(request) }
    }

    /// Records a request in the retry budgets, if its host is another than that of the last request that was recorded.
    @inline(never)
    private func recordInBudgets(_ request: Request) {
        for budget in attached.budgets { budget.recordRequest(request, of: call) }
    }

    /// Sends a request, and follows the redirects that answer it.
    ///
    /// - Parameter asked: The request of the call, before any adapter has changed it; `nil` if there are no adapters.
    @inline(__always)
    private func hops(_ request: Request, asked: Request?) async -> AttemptEnd {
        do {
            let answer = try await hop(request)
            guard answer.response.status.isRedirect else { return end(.success(answer)) }
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
        // A handler may wait.
        if actor == nil, steps.redirectHandler?.followsRedirects == true {
            throw NeedsTask(rest: .redirect(answer, to: request))
        }
        let policy = steps.redirects ?? RedirectPolicy()
        guard
            let (hop, redirect) = try await policy.next(
                after: answer.response, to: request, asked: context.hop?.asked ?? asked,
                handler: steps.redirectHandler,
                context: context, hsts: session.configuration.secureHosts)
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
    @inline(__always)
    private func hop(_ request: Request) async throws -> StepResponse {
        if steps.network.isEmpty { return try await exchange(request) }
        return try await runNetworkSteps(request, 0)
    }

    @inline(never)
    private func runNetworkSteps(_ request: Request, _ depth: Int) async throws -> StepResponse {
        if depth == steps.network.count {
            return session.configuration.secureHosts == nil
                ? try await exchange(request) : try await upgradedExchange(request)
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
}
