import CurlEngine
import FoundationEssentials
import Synchronization

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
/// | cookies | for each exchange: a network step may send several | ``exchangeWithCookies(_:)`` |
/// | cache | for each exchange, which it may make unnecessary | ``exchange(_:)`` |
/// | endpoints | for each exchange, if its origin has some | ``exchangeAtEndpoint(_:of:)`` |
/// | rate limits and circuit breaker | for each exchange | ``exchangeInTurn(_:)`` |
/// | observation | for each exchange, if it is observed | ``exchangeObserved(_:_:by:)`` |
/// | alternative services | for each exchange, if one is known | ``sendWithAlternatives(_:_:)`` |
/// | proxies | for each exchange, if there are several to try, or addresses after one | ``sendThroughProxies(_:_:)`` |
/// | trust in the server | for each exchange, if the session has evaluators | ``sendEvaluated(_:_:)`` |
/// | signers | for each exchange, until a redirect leaves the origin | ``makeSignedExchange(of:permit:sizes:)`` |
/// | the exchange | one request on the wire | ``sendOnce(_:_:)`` |
///
/// A call has an actor if a step may wait, or if it is a handle's: its pipeline then runs in a task that the deadline can cancel. Any other
/// call of a verb waits for its exchanges alone, which have the call's deadline, so that its pipeline runs in the caller's task
/// (``performHere()``). Where such a call has to wait for something else, a stage ends its attempt with ``NeedsTask``; the call gets its
/// actor, and continues there.
///
/// Thousands of calls may wait in any of these functions. A function that waits keeps only references in its frame. Values that it does not
/// need during the wait are in separate functions, which are `@inline(never)` for that reason.
package final class Pipeline: Sendable {
    /// The session of the call.
    package let session: Session
    /// The steps of the session and of the request.
    package let attached: AttachedSteps
    /// The actor of the call; `nil` if the call waits for its exchanges alone.
    let actor: RequestActor?
    /// The conditions that the caller has of the response, if the call has no actor, which would have them.
    let conditions: ReadingConditions?
    /// The context of the present hop.
    package let context: CallContext
    /// The last request of the attempt.
    package let last: LastRequest
    /// Is called with the head of the next response in memory, if anything waits for that.
    let onHead: (@Sendable (ResponseHead) -> Void)?

    /// The call.
    package var call: Call { context.call }

    /// The steps of the session and of the request, together.
    package var steps: Steps { attached.steps }

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
        onHead = nil
    }

    /// Creates the pipeline of a call without an actor.
    init(_ call: Call, _ attached: AttachedSteps, for conditions: ReadingConditions?, session: Session) {
        (self.session, self.attached, self.conditions) = (session, attached, conditions)
        actor = nil
        context = CallContext(call)
        last = LastRequest(call)
        onHead = nil
    }

    /// Creates the same pipeline in the context of a later attempt or hop.
    private init(_ pipeline: Pipeline, _ context: CallContext, last: LastRequest? = nil, actor: RequestActor? = nil) {
        (session, attached, conditions) = (pipeline.session, pipeline.attached, pipeline.conditions)
        self.actor = actor ?? pipeline.actor
        self.context = context
        self.last = last ?? pipeline.last
        onHead = nil
    }

    /// Creates the same pipeline for an exchange whose head is waited for.
    package init(_ pipeline: Pipeline, onHead: @escaping @Sendable (ResponseHead) -> Void) {
        (session, attached, conditions) = (pipeline.session, pipeline.attached, pipeline.conditions)
        (actor, context, last) = (pipeline.actor, pipeline.context, pipeline.last)
        self.onHead = onHead
    }

    // MARK: The call

    /// Performs a call that has an actor, once.
    func run() async throws -> StepResponse {
        if session.upgrades.mustPrepare { await session.upgrades.prepare() }
        let asked = try begin()
        if depth == steps.application.count { return try await attempts(at: asked) }
        return try await runApplicationSteps(asked, depth)
    }

    /// Performs a call without an actor, once, in the caller's task.
    func performHere() async throws -> StepResponse {
        defer { leave() }
        let end = await attempt(try begin())
        if isContinued(end) { return try await continued(after: end) }
        return try call.ended(with: end.result).get()
    }

    /// The number of application steps that ran before this pipeline begins.
    private var depth: Int { actor?.depth ?? 0 }

    /// Returns the request with which the stages begin. A call without an actor ends with the error.
    @inline(never)
    private func begin() throws -> Request {
        do {
            try call.checkCancellation()
            guard depth == 0 else { return call.request }
            let asked = try asked(by: call)
            // While adapters run, the session knows the call by its list.
            if actor == nil, !attached.adapters.isEmpty { try enter() }
            return asked
        } catch {
            throw actor == nil ? call.ended(with: error) : error
        }
    }

    /// Returns the request of the call with its URL completed by the session, and over https if its host asks for that.
    ///
    /// - Parameter call: The call whose observers are told of a change to https, if any: a call's request is made several times.
    private func asked(by call: Call?) throws -> Request {
        // Nothing changes it: each function below would copy it.
        if session.preparation.urlDefaults == nil, session.upgrades.secureHosts == nil { return self.call.request }
        return try session.upgrades.upgraded(session.preparation.completingURL(of: self.call.request), by: call)
    }

    // MARK: Calls without an actor

    /// Whether a call without an actor is in the session's list.
    var isListed: Bool { call.listPosition.load(ordering: .relaxed) >= 0 }

    /// Adds a call without an actor to the session's list, unless it is there. A session that drains waits for the calls in the list, and
    /// sends what they still need.
    package func enter() throws {
        guard actor == nil, !isListed else { return }
        session.actor.calls.add(call)
        // The session looks at the list after it has refused new calls: it has found this call, or this call finds that.
        guard !session.life.isShutDown else { throw TrellisError.sessionIsShutDown }
    }

    /// Throws ``NeedsTask`` if the call has no actor, and its request has to wait.
    package func requireTask(for request: Request) throws {
        if actor == nil { throw NeedsTask(rest: .hop(request)) }
    }

    /// Throws the error of a call that has ended, or of a session that has been shut down, if the call is not in its list.
    package func checkEnd() throws {
        try call.checkCancellation()
        // Otherwise the session knows the call.
        if actor == nil, !isListed, session.life.isShutDown { throw TrellisError.sessionIsShutDown }
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
        let asked = try asked(by: nil)
        var end = first
        if case .failure(let error as NeedsTask) = first.result {
            let original = attached.adapters.isEmpty ? nil : asked
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
        return try await through(steps.application[depth], request, depth: depth + 1) {
            try await self.runApplicationSteps($0, depth + 1)
        }
    }

    @inline(never)
    private func through(
        _ step: any RequestStep, _ request: Request, depth: Int?,
        next: @escaping @Sendable (Request) async throws -> StepResponse
    ) async throws -> StepResponse {
        try await step.send(
            request, context: context, next: NextStep(depth: depth, origin: (call, attached), next)
        )
        .answering(last)
    }

    // MARK: Retries and hedging

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

    /// Validates a response in memory as part of its attempt, so that retriers can decide about a response that is refused. Waits for the
    /// first byte of a stream, if a policy wants that.
    func validated(_ end: AttemptEnd) async -> AttemptEnd {
        guard case .success(let answer) = end.result else { return end }
        if call.delivery == .stream, attached.waitsForFirstByte { return await withFirstByte(end, of: answer) }
        guard call.delivery == .memory, let body = answer.data,
            let conditions = call.record.withLock({ $0.conditions.first })
        else { return end }
        let whole = Answer(
            to: answer.sent, response: answer.response, body: body,
            observer: call.observer.map { _ in ValidationRecorder(call) })
        var (end, validated) = (end, answer)
        validated.validationResult = await conditions.validationResult(of: whole)
        end.result = .success(validated)
        return end
    }

    /// Returns the end of an attempt whose response has the first chunk of its body; the failure before that chunk.
    private func withFirstByte(_ end: AttemptEnd, of answer: StepResponse) async -> AttemptEnd {
        guard case .source(let token) = answer.content, answer.response.status.kind == .successful else { return end }
        var end = end
        do {
            if let chunk = try await token.source.next() {
                let body = BegunBodySource(chunk, token)
                end.result = .success(answer.replacing(answer.response, .source(TransferToken(body))))
            }
        } catch {
            end.result = .failure(token.source.completed(error, reading: answer.response))
        }
        return end
    }

    /// Returns the request with which the next attempt begins. Adapters change it again, unless a redirect has left their origin.
    private func restart(of request: Request) -> Request {
        guard let hop = context.hop else { return request }
        return context.hasLeftOrigin ? hop.adapted : hop.asked
    }

    /// Returns the time to wait before the next attempt; `nil` if there is no further attempt, and the result is final.
    ///
    /// - Parameter request: The request of the call.
    @inline(never)
    func decision(on end: AttemptEnd, of request: Request) async throws -> Duration? {
        guard !steps.retriers.isEmpty, var failed = failedAttempt(end),
            !end.isAnswered || failed.request.mayBeRepeated
        else { return nil }
        // An adapter that has set a body which can be read once may set the same one again.
        failed.hasReplayableBody = failed.hasReplayableBody && restart(of: request).hasReplayableBody
        guard let wait = try await wait(after: failed) else { return nil }
        call.tellValidations()
        tell { .retrying(after: wait, because: end.result.failure) }
        call.exchangeObserver?.willRetry(failed, after: wait, context: context)
        return wait
    }

    /// Returns the failed attempt that is passed to retriers; `nil` if there is nothing to retry.
    private func failedAttempt(_ end: AttemptEnd) -> FailedAttempt? {
        switch end.result {
        case .failure(let error): return FailedAttempt(request: end.last.value.sentRequest, error: error)
        case .success(let answer):
            let error = answer.validationResult?.error
            guard error != nil || answer.response.status.code >= 400 else { return nil }
            var failed = FailedAttempt(
                request: answer.sent.sentRequest, response: answer.response, body: answer.data, error: error)
            if answer.data == nil { failed.discard = { [context] in await answer.discard(context) } }
            return failed
        }
    }

    /// Asks the retriers in order for the time to wait before the next attempt; `nil` if no retrier asks for one.
    private func wait(after failed: FailedAttempt) async throws -> Duration? {
        for retrier in steps.retriers {
            try call.checkCancellation()
            switch await retrier.retry(failed, context: context) {
            case .doNotRetry: continue
            case .doNotRetryWithError(let error): throw error
            case .retry: return try mayRetry(failed, after: .zero)
            case .retryWithDelay(let delay): return try mayRetry(failed, after: max(delay, .zero))
            }
        }
        return nil
    }

    /// Returns the delay; `nil` if the deadline is earlier. Throws an error if the body cannot be sent again.
    private func mayRetry(_ failed: FailedAttempt, after delay: Duration) throws -> Duration? {
        if let remaining = context.remainingTime, delay >= remaining { return nil }
        guard failed.hasReplayableBody else { throw failed.isNotReplayable }
        return delay
    }

    // MARK: Adapters

    /// Runs one attempt: the adapters, and then the hops. The additions of adapters are meant for the first origin, so they do not run
    /// again for a hop to another origin.
    ///
    /// - Parameter request: The request of the call. After a redirect, the attempt begins with the request of its hop.
    @inline(__always)
    private func attempt(_ request: Request) async -> AttemptEnd {
        do {
            let asked = context.hop?.asked ?? request
            var (adapted, index) = (asked, 0)
            if try !adaptAtOnce(&adapted, from: &index) {
                adapted = try await adaptWaiting(adapted, from: index, asked)
            }
            return await hops(adapted, asked: attached.adapters.isEmpty ? nil : request)
        } catch {
            return end(.failure(error))
        }
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
        if session.configuration.secureHosts != nil { request = session.upgrades.upgraded(request, by: call) }
        if isFirst, request.url != asked.url { recordInBudgets(request) }
    }

    /// Records a request in the retry budgets, unless the last request that was recorded has the same host.
    @inline(never)
    private func recordInBudgets(_ request: Request) {
        for budget in attached.budgets { budget.recordRequest(request, of: call) }
    }

    // MARK: Redirects

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

    // MARK: Network steps

    /// Runs one hop: the steps around it, and inside them the exchanges.
    @inline(__always)
    private func hop(_ request: Request) async throws -> StepResponse {
        if !attached.kinds.contains(.network) { return try await exchange(request) }
        return try await runNetworkSteps(request, 0)
    }

    @inline(never)
    private func runNetworkSteps(_ request: Request, _ depth: Int) async throws -> StepResponse {
        if depth == steps.network.count {
            // A network step may have changed the URL.
            return try await exchange(session.upgrades.upgraded(request, by: call))
        }
        try call.checkCancellation()
        return try await through(steps.network[depth], request, depth: nil) {
            try await self.runNetworkSteps($0, depth + 1)
        }
    }

    // MARK: The exchange

    /// Runs one exchange with its cookies, through the cache, if there is one: the framework's or the user's. If a network step sends two
    /// requests, such as Digest authentication, the second request includes the cookies of the first response.
    @inline(__always)
    func exchange(_ request: Request) async throws -> StepResponse {
        try check(request)
        guard attached.kinds.contains(.cache), call.delivery != .connection else {
            return hasCookies ? try await exchangeWithCookies(request) : try await exchangeWithinLimits(request)
        }
        switch try replyAtOnce(to: request) {
        case .answer(let answer)?: return answer
        case .pending(let answer)?: return try await answer()
        case nil: return try await exchangeWithWaits(request)
        }
    }

    private var hasCookies: Bool { attached.kinds.contains(.cookies) }

    /// Throws the error of a call that has ended, and ``NeedsTask`` if the call has no actor and its request has to wait: for a disk, for
    /// certificates, or for a decision about its way.
    @inline(never)
    private func check(_ request: Request) throws {
        // Otherwise the call was checked when it began, and the session has looked already.
        let mayDiffer = !attached.adapters.isEmpty || session.configuration.secureHosts != nil || !isFirst
        guard actor != nil || mayDiffer else { return }
        try call.checkCancellation()
        guard actor == nil else { return }
        guard !request.waitsForDisk, !session.preparation.mustWait(for: request, session.clock) else {
            throw NeedsTask(rest: .hop(request))
        }
    }

    // MARK: Cookies

    @inline(never)
    private func exchangeWithCookies(_ request: Request) async throws -> StepResponse {
        let answer = try await exchangeWithinLimits(await addingCookies(to: request))
        if !keepCookiesAtOnce(of: answer, to: request) { await keepCookies(of: answer, to: request) }
        return answer
    }

    /// Returns a request with the cookies that the jar has for it.
    @inline(__always)
    func addingCookies(to request: Request) async -> Request {
        if let request = addingCookiesAtOnce(to: request) { return request }
        return await addingCookiesOfStorage(to: request)
    }

    @inline(never)
    private func addingCookiesAtOnce(to request: Request) -> Request? {
        attached.immediate.cookies?.addingCookies(to: request)
    }

    @inline(never)
    private func addingCookiesOfStorage(to request: Request) async -> Request {
        guard let jar = steps.cookies, let url = CookieURL(request.url) else { return request }
        let cookies = await jar.cookies(for: url)
        tellFailure(of: jar)
        return request.adding(cookies)
    }

    /// Stores the cookies of a response in the jar, if the jar does not wait. Returns whether it does not.
    @inline(never)
    private func keepCookiesAtOnce(of answer: StepResponse, to request: Request) -> Bool {
        guard let jar = attached.immediate.cookies else { return false }
        jar.keepCookies(of: answer.response, to: request)
        return true
    }

    @inline(never)
    private func keepCookies(of answer: StepResponse, to request: Request) async {
        guard answer.response.headers.contains(.setCookie), let jar = steps.cookies,
            let url = CookieURL(request.url)
        else { return }
        await jar.store(answer.response.head.texts(of: .setCookie), from: url)
        tellFailure(of: jar)
    }

    /// Tells the observer that a file of cookies has failed, once for all requests until the file works again.
    private func tellFailure(of jar: any CookieStorage) {
        guard call.observer != nil, let failure = (jar as? CookieFile)?.takeNewFailure() else { return }
        tell { .cookiesFailed(failure) }
    }

    // MARK: The cache

    /// Returns the reply of the framework's cache; `nil` if the session has another one, or the cookies have to be waited for.
    @inline(never)
    private func replyAtOnce(to asked: Request) throws -> CacheReply? {
        guard let cache = attached.cache, let request = hasCookies ? addingCookiesAtOnce(to: asked) : asked else {
            return nil
        }
        return try cache.reply(to: request, asked: asked, in: self)
    }

    @inline(never)
    private func exchangeWithWaits(_ asked: Request) async throws -> StepResponse {
        let request = hasCookies ? await addingCookies(to: asked) : asked
        guard let cache = attached.cache else { return try await exchangeWithOtherCache(request, asked: asked) }
        return try await cache.reply(to: request, asked: asked, in: self).answer
    }

    /// Returns the response to a request from a cache of the user's.
    ///
    /// - Parameter asked: The request without the cookies of the session.
    @inline(never)
    private func exchangeWithOtherCache(_ request: Request, asked: Request) async throws -> StepResponse {
        guard let cache = steps.cache else { return try await exchangeForCache(request) }
        let next = NextStep(
            origin: (call, attached),
            responseOfCache: { request, cache in try await cache.reply(to: request, asked: asked, in: self).answer },
            { try await self.exchangeForCache($0) })
        return try await cache.response(to: request, context: context, next: next).answering(last)
    }

    /// Runs one exchange of the cache. The cookies of stored responses were stored when they were received.
    @inline(never)
    package func exchangeForCache(_ request: Request) async throws -> StepResponse {
        let answer = try await exchangeWithinLimits(request)
        if hasCookies, !keepCookiesAtOnce(of: answer, to: request) { await keepCookies(of: answer, to: request) }
        return answer
    }

    // MARK: Limits

    /// Runs one exchange when the limits of its host permit it.
    @inline(__always)
    private func exchangeWithinLimits(_ request: Request) async throws -> StepResponse {
        if let table = session.endpoints { return try await exchangeAtEndpoint(request, of: table) }
        return try await exchangeOnceWithinLimits(request)
    }

    /// Runs one exchange, with its endpoint if its origin has some, when the limits of its host permit it.
    @inline(__always)
    func exchangeOnceWithinLimits(_ request: Request) async throws -> StepResponse {
        attached.kinds.contains(.limits)
            ? try await exchangeInTurn(request) : try await exchangeOnRoute(request, nil)
    }

    @inline(never)
    private func exchangeInTurn(_ request: Request) async throws -> StepResponse {
        let permit: LimitPermit
        if let known = try permitAtOnce(for: request) {
            permit = known
        } else {
            permit = try await attached.permit(for: request, context)
        }
        do {
            let answer = try await exchangeOnRoute(request, permit)
            permit.end(with: answer.response, nil, context)
            if let slot = permit.slot { leave(slot, after: answer) }
            return answer
        } catch {
            permit.end(with: nil, error, context)
            permit.slot?.leave()
            throw error
        }
    }

    /// Leaves the slot of a request when its response is complete; a connection on which protocols are switched has none.
    private func leave(_ slot: ConcurrencySlot, after answer: StepResponse) {
        whenComplete(answer) { slot.leave() }
    }

    /// Calls a closure when a response is complete; at once, if it is.
    func whenComplete(_ answer: StepResponse, _ body: @escaping @Sendable () -> Void) {
        guard let exchange = streamingExchange(of: answer) else { return body() }
        exchange.submit { exchange in exchange.atEnd(body) }
    }

    /// Returns the exchange of a response whose body is still arriving.
    private func streamingExchange(of answer: StepResponse) -> ExchangeActor? {
        guard call.delivery == .stream, case .source(let token) = answer.content else { return nil }
        return (token.source as? StreamSource)?.exchange
    }

    /// Returns the permit of a request that no limit delays; `nil` if there are limits at which it may wait.
    @inline(never)
    private func permitAtOnce(for request: Request) throws -> LimitPermit? {
        guard steps.rateLimiters.isEmpty, steps.adaptiveConcurrency == nil, let breaker = steps.circuitBreaker else {
            return nil
        }
        return try LimitPermit(of: request, enteringCircuitOf: breaker, context)
    }

    // MARK: The observation and the way to the server

    /// Runs one exchange on its route to the server.
    @inline(never)
    private func exchangeOnRoute(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        if let observer = call.exchangeObserver { return try await exchangeObserved(request, permit, by: observer) }
        return try await sendByRoute(request, permit)
    }

    @inline(never)
    private func exchangeObserved(
        _ request: Request, _ permit: LimitPermit?, by observer: any ExchangeObserver
    ) async throws -> StepResponse {
        let (request, observation) = observer.begin(request, context: context)
        do {
            let answer = try await sendByRoute(request, permit)
            if let observation { end(observation, with: answer) }
            return answer
        } catch {
            observation?.end(with: error)
            throw error
        }
    }

    private func end(_ observation: any ExchangeObservation, with answer: StepResponse) {
        observation.end(with: answer.response, isStreamed: answer.data == nil)
        guard let exchange = streamingExchange(of: answer) else { return }
        let last = StreamObservation(observation)
        exchange.submit { exchange in
            exchange.whenEnded { last.observation.endBody(with: $0) }
        }
    }

    /// Sends a request on its way: to an alternative service of its origin, or to the origin, through the proxies of its rule.
    @inline(__always)
    private func sendByRoute(
        _ request: Request, _ permit: LimitPermit?, mayUseAlternative: Bool = true
    ) async throws -> StepResponse {
        if mayUseAlternative, session.configuration.alternatives != nil {
            return try await sendWithAlternatives(request, permit)
        }
        return session.preparation.mustSelectRoute(for: request)
            ? try await sendThroughProxies(request, permit) : try await send(request, permit)
    }

    /// Sends a request to an alternative service of its origin if there is one; otherwise, and if no connection to the service can be made,
    /// to the origin.
    @inline(never)
    private func sendWithAlternatives(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        if let attempt = AlternativeAttempt(request, in: self), let answer = try await attempt.send(request, permit) {
            return answer
        }
        try call.checkCancellation()
        return try await sendByRoute(request, permit, mayUseAlternative: false)
    }

    @inline(never)
    private func sendThroughProxies(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        try await ProxyFailover(request, in: self, permit).send(request)
    }

    // MARK: The request on the wire

    /// Sends a request on the wire, and returns the response, with its body in memory or as a stream.
    ///
    /// - Parameter permit: The permit that the host's limits have given to the exchange; `nil` if the host has no limits.
    @inline(__always)
    func send(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        session.preparation.mayWaitForTrust
            ? try await sendEvaluated(request, permit) : try await sendOnce(request, permit)
    }

    /// Sends a request as an exchange of its own.
    @inline(never)
    func sendOnce(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        if request.isForm { try await MIMETypes.load() }
        // A call without an actor has looked already whether it has to wait for the files.
        if actor != nil, session.preparation.mustLoadTrust(for: request, call.clock) {
            try await loadTrust(for: request)
        }
        let sizes = request.hasFiles ? try await FileSizes(of: request.body) : nil
        // Signers sign for the origin of the call alone.
        let exchange =
            if steps.signers.isEmpty || context.hasLeftOrigin {
                try makeExchange(of: request, permit: permit, sizes: sizes)
            } else { try await makeSignedExchange(of: request, permit: permit, sizes: sizes) }
        do {
            switch call.delivery {
            case .memory:
                let (body, response) =
                    if let actor { try await actor.collected(exchange) } else { try await exchange.collected() }
                return received(response, body: .data(body), to: request, exchange)
            case .stream, .connection:
                let (response, body) = try await streamed(exchange)
                return received(response, body: body, to: request, exchange)
            }
        } catch {
            throw failed(error, of: request, exchange)
        }
    }

    /// Returns the response of an exchange whose body is still arriving.
    @inline(never)
    private func streamed(_ exchange: ExchangeActor) async throws -> (Response, StepResponse.Content) {
        let inbox = BodyInbox {
            exchange.submit { $0.readerHasDrained() }
        } whenAbandoned: {
            exchange.cancelWithTask()
        }
        let response =
            if let actor { try await actor.head(exchange, inbox: inbox) } else { try await exchange.head(inbox: inbox) }
        // The session stays alive as long as its streams.
        let source = StreamSource(inbox: inbox, exchange: exchange, session: session)
        return (response, .source(TransferToken(source)))
    }

    /// Records the response to an exchange, and returns it with its body.
    @inline(never)
    private func received(
        _ response: Response, body: StepResponse.Content, to request: Request, _ exchange: ExchangeActor
    ) -> StepResponse {
        session.upgrades.learn(from: response.head, of: exchange.prepared)
        call.note(request)
        call.record(exchange.prepared, response.metrics, attempt: context.attempt)
        return StepResponse(response: response, content: body, to: exchange.prepared)
    }

    /// Records the failure of an exchange. Returns the error.
    @inline(never)
    private func failed(_ error: any Error, of request: Request, _ exchange: ExchangeActor) -> any Error {
        if (error as? TrellisError)?.pendingTrust != nil { return error }
        call.note(request, error)
        // The end of the call has recorded what was on the wire. An exchange that came after it was not sent.
        if error is CancellationError, call.isDecided { return error }
        call.record(exchange.prepared, (error as? TrellisError)?.metrics, attempt: context.attempt)
        return error
    }

    /// Makes the exchange of a request with the changes of its signers.
    @inline(never)
    private func makeSignedExchange(
        of request: Request, permit: LimitPermit?, sizes: FileSizes?
    ) async throws -> ExchangeActor {
        let asked = call.delivery == .connection ? request.withKeyOfConnection : request
        let signed = try await session.preparation.signed(asked, by: steps.signers, in: context, sizes: sizes)
        // A signer may have set a body with files, whose sizes are not known yet.
        let known = try await sizes == nil && signed.hasFiles ? FileSizes(of: signed.body) : sizes
        return try makeExchange(of: signed, permit: permit, sizes: known, hasKey: true)
    }

    /// - Parameter hasKey: Whether the request has its key for this connection, so that no other one is chosen.
    @inline(never)
    private func makeExchange(
        of request: Request, permit: LimitPermit?, sizes: FileSizes?, hasKey: Bool = false
    ) throws -> ExchangeActor {
        let request = call.delivery == .connection && !hasKey ? request.withKeyOfConnection : request
        try enter()
        let beginning = call.beginning
        // Code of the user's takes time: the exchange does not wait for its slot before that has returned.
        let hasWaited = actor != nil || !isFirst || attached.immediate.hasUserCode
        let mayCut = call.delivery == .memory && !attached.mayReplaceResponses
        let history = AttemptHistory(
            earlierAttempts: context.attempt - 1, redirects: context.redirects, hasLeftOrigin: context.hasLeftOrigin,
            limit: call.limit, start: permit?.takeStart() ?? (hasWaited ? call.clock.now() : beginning),
            observer: call.observer,
            hasRedirectHandler: attached.kinds.contains(.redirectHandler), mayCutBodies: mayCut, starts: call.starts,
            onStart: permit?.recordSending, mayBeRepeated: actor != nil || !steps.retriers.isEmpty,
            listedCall: actor == nil ? call : nil)
        let prepared = try session.preparation.prepare(
            request, delivery: call.delivery, start: beginning, history: history, sizes: sizes, callID: call.id)
        let readers = mayCut ? readers : nil
        let exchange = session.makeExchange(
            prepared, of: actor, readers: onHead.map { HeadReader($0, readers) } ?? readers)
        last.note(prepared)
        return exchange
    }

    /// The readers of a response in memory.
    private var readers: (any HeadValidator)? { if actor == nil { conditions } else { call.record } }

    @inline(never)
    package func tell(_ kind: () -> RequestEvent.Kind) {
        if let observer = call.observer { observer.tell(kind(), attempt: context.attempt) }
    }

    // MARK: Trust in the server

    /// Sends a request to a server whose evaluator may wait. An exchange that reaches a server with unknown certificates ends before any
    /// byte of the request is sent. The evaluator is asked, and then the request is sent again: neither of the two
    /// counts as an attempt.
    @inline(never)
    func sendEvaluated(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        var evaluations = ServerEvaluations()
        defer { withExtendedLifetime(evaluations) {} }
        while true {
            do {
                return try await sendOnce(request, permit)
            } catch let error as TrellisError {
                try await evaluate(evaluations.next(after: error), for: request, after: error)
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
            ended.metrics.total = max(ended.metrics.total, context.elapsed)
            throw ended
        }
        try call.checkCancellation()
    }

    /// Reads the certificates for a request, if they must be read.
    ///
    /// The read has a separate task: a task keeps the memory of its largest frame until it ends, and thousands of calls that wait for the
    /// first read may then wait long for their responses.
    @inline(never)
    private func loadTrust(for request: Request) async throws {
        let load = Task { try await trustChanges(for: request) }
        let changes = try await withTaskCancellationHandler {
            try await load.value
        } onCancel: {
            load.cancel()
        }
        for change in changes {
            tell { .trustFilesChanged(change.paths, change.error) }
        }
    }

    /// Reads the certificates for a request, and returns the changes of their files. The first read has the limit on connecting.
    @inline(never)
    private func trustChanges(for request: Request) async throws -> [TrustEntry.Change] {
        let preparation = session.preparation
        return try await call.waiting(for: .trustFiles) {
            try await preparation.loadTrust(for: request, now: call.clock.now()) {
                preparation.limits(of: request, delivery: call.delivery).connect.map { limit in
                    let end = context.now.advanced(by: .nanoseconds(limit))
                    return TrustFileLimit(
                        wait: { try await self.context.waitForLimit(end, isAtRest: false) },
                        elapsed: { self.context.elapsed }, isZero: limit == 0)
                }
            }
        }
    }

    // MARK: Functions of the session's owner

    /// Returns the result of a function, which runs in a separate task, within the limit on connecting. The function is cancelled when
    /// the time is over or the call ends, and is not waited for after that.
    ///
    /// - Throws: The error of the function; ``TrellisError`` of kind ``TrellisError/Kind/connectTimeout``; `CancellationError` in a
    ///   cancelled task.
    @inline(never)
    func result<Value: Sendable>(
        of function: CallFunction, for request: Request, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let work = call.clock.working(for: call.id, work)
        return try await call.waiting(for: function) {
            let limit = session.preparation.limits(of: request, delivery: call.delivery).connect
            guard let limit else { return try await FunctionTask.value(of: work) }
            let value = try await context.result(within: .nanoseconds(limit)) { try await FunctionTask.value(of: work) }
            if let value { return value }
            throw TrellisError.timedOut(.connect, waitingFor: function, after: context.elapsed)
        }
    }
}

/// The observation of a streamed response. An engine thread may have the last reference to it.
private final class StreamObservation: Sendable {
    let observation: any ExchangeObservation

    init(_ observation: any ExchangeObservation) { self.observation = observation }

    deinit { UserObjects.release([observation]) }
}

extension CallContext {
    /// The `User-Agent` of requests that have none of their own; `nil` if the session sends none.
    package var defaultUserAgent: String? {
        guard let configuration = (call.sender as? Session)?.configuration else { return nil }
        return configuration.defaultHeaders[.userAgent] ?? configuration.userAgent
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
