import CurlEngine

/// Where a call goes along.
final class Course: Sendable {
    let session: Session
    let surroundings: AttachedSteps
    /// The answer is collected in memory.
    let isCollected: Bool
    /// How many of the steps around the call are behind it.
    let depth: Int
    /// What the first request on the wire has brought already.
    let answered: StepResponse?
    /// The call is part of a download or of another call that the session knows.
    let isInFlight: Bool

    init(
        _ session: Session, _ surroundings: AttachedSteps, isCollected: Bool, depth: Int, answered: StepResponse?,
        isInFlight: Bool = false
    ) {
        self.isInFlight = isInFlight
        self.session = session
        self.surroundings = surroundings
        self.isCollected = isCollected
        self.depth = depth
        self.answered = answered
    }

    /// Once a call: the steps around it, and inside of them the attempts.
    func answer(of call: RequestActor, _ deadline: CallDeadline) async throws -> StepResponse {
        let (journey, request) = try begin(call, deadline)
        if depth == surroundings.steps.aroundCall.count { return try await journey.attempts(at: request) }
        return try await journey.throughCalls(request, depth)
    }

    @inline(never)
    private func begin(_ call: RequestActor, _ deadline: CallDeadline) throws -> (Journey, Request) {
        try Task.checkCancellation()
        let request = depth == 0 ? try session.preparation.completingURL(of: call.request) : call.request
        return (Journey(session, call, self, deadline), request)
    }
}

/// A call on its way through everything that surrounds its attempts. The order is that of the functions.
///
/// Thousands may wait at any of these places: what a function needs no more when it waits is in one that it calls, and what
/// it keeps are references, so that those who wait are small.
final class Journey: Sendable {
    let session: Session
    let call: RequestActor
    let context: CallContext

    var situation: CallSituation { context.call }

    private var steps: AttachedSteps { context.call.surroundings }

    /// What the call's handle has made already.
    var first: ExchangeActor? { isFirst ? call.first : nil }

    private var isFirst: Bool { context.attempt == 1 && context.redirects.isEmpty }

    fileprivate init(_ session: Session, _ call: RequestActor, _ course: Course, _ deadline: CallDeadline) {
        self.session = session
        self.call = call
        context = CallContext(
            CallSituation(
                id: call.id, deadline: deadline, engine: session.engine, surroundings: course.surroundings,
                isCollected: course.isCollected, observer: call.observer, answered: course.answered, origin: session,
                record: call.record))
    }

    /// The same journey, further on.
    private init(_ journey: Journey, _ context: CallContext) {
        session = journey.session
        call = journey.call
        self.context = context
    }

    /// One step inside of the other.
    @inline(never)
    fileprivate func throughCalls(_ request: Request, _ depth: Int) async throws -> StepResponse {
        if depth == steps.steps.aroundCall.count { return try await attempts(at: request) }
        try Task.checkCancellation()
        return try await through(steps.steps.aroundCall[depth], request, depth + 1) {
            try await self.throughCalls($0, depth + 1)
        }
    }

    @inline(never)
    private func through(
        _ step: any RequestStep, _ request: Request, _ depth: Int?,
        _ next: @escaping @Sendable (Request) async throws -> StepResponse
    ) async throws -> StepResponse {
        try await step.send(request, context: context, next: NextStep(depth: depth, next))
    }

    /// Runs the first attempt, and further ones where there is anything that asks for them.
    @inline(never)
    fileprivate func attempts(at request: Request) async throws -> StepResponse {
        if steps.steps.hedging != nil { return try await retried(at: request, hedged: true) }
        let end = await attempt(request)
        if steps.steps.retriers.isEmpty { return try end.result.get() }
        return try await retried(at: request, after: end)
    }

    /// Runs attempts until no retrier asks for another. Each goes on at the hop where the last one failed.
    ///
    /// - Parameter first: How the first attempt ended, if it was made.
    @inline(never)
    private func retried(
        at request: Request, after first: AttemptEnd? = nil, hedged: Bool = false
    ) async throws -> StepResponse {
        var (journey, known) = (self, first)
        while true {
            var end: AttemptEnd
            if let known { end = known } else { end = await journey.nextAttempt(request, hedged) }
            journey = Journey(journey, end.context)
            end = await journey.judged(end)
            guard let wait = try await journey.retry(after: end, of: request) else { return try end.result.get() }
            known = nil
            if case .success(let answer) = end.result { await answer.discard(journey.context) }
            try await journey.context.wait(for: wait)
            journey = journey.again()
        }
    }

    @inline(never)
    private func again() -> Journey {
        var context = context
        context.attempt += 1
        situation.observer?.begin(attempt: context.attempt)
        return Journey(self, context)
    }

    /// Once, or again beside an attempt that is slow to answer.
    @inline(never)
    private func nextAttempt(_ request: Request, _ hedged: Bool) async -> AttemptEnd {
        guard hedged, let policy = steps.steps.hedging else { return await attempt(request) }
        return await HedgeRace(policy: policy, request: context.hop?.asked ?? request) { [self] context in
            await Journey(self, context).attempt(request)
        }.run(context)
    }

    /// Once an attempt: the adapters, and then the request on its way.
    ///
    /// - Parameter request: That of the call. Behind a redirect the attempt begins with the request of its hop.
    @inline(never)
    private func attempt(_ request: Request) async -> AttemptEnd {
        do {
            let adapted = try await adapted(context.hop?.asked ?? request)
            return await hops(adapted, asked: steps.steps.adapters.isEmpty ? nil : request)
        } catch {
            return AttemptEnd(result: .failure(error), context: context)
        }
    }

    /// Runs the adapters. What they add was meant for the first origin, so that they do not run again for a hop at another.
    private func adapted(_ request: Request) async throws -> Request {
        if context.hasLeftOrigin, let hop = context.hop { return hop.adapted }
        var request = request
        for index in steps.steps.adapters.indices { request = try await adapted(request, index) }
        return request
    }

    @inline(never)
    private func adapted(_ request: Request, _ index: Int) async throws -> Request {
        let adapted = try await steps.steps.adapters[index].adapt(request, context: context)
        tell { .adapted(adapted) }
        return adapted
    }

    /// Sends a request, and follows the redirects that answer it.
    ///
    /// - Parameter asked: The request of the call, as no adapter has changed it; `nil` where there are no adapters.
    private func hops(_ request: Request, asked: Request?) async -> AttemptEnd {
        do {
            let answer = try await hop(request)
            guard answer.response.status.isRedirect else {
                return AttemptEnd(result: .success(answer), context: context)
            }
            return await followed(answer, to: request, asked)
        } catch {
            return failed(error)
        }
    }

    @inline(never)
    private func followed(_ answer: StepResponse, to request: Request, _ asked: Request?) async -> AttemptEnd {
        var (journey, request, answer, isAnswered) = (self, request, answer, true)
        do {
            while let next = try await journey.next(after: answer, to: request, asked) {
                (request, journey) = next
                isAnswered = false
                answer = try await journey.hop(request)
                isAnswered = true
            }
            return AttemptEnd(result: .success(answer), context: journey.context)
        } catch {
            return journey.failed(error, isAnswered: isAnswered)
        }
    }

    @inline(never)
    private func failed(_ error: any Error, isAnswered: Bool = false) -> AttemptEnd {
        var failure = error
        if var error = error as? TrellisError, error.redirects.isEmpty {
            error.followed = context.redirects
            failure = error
        }
        return AttemptEnd(result: .failure(failure), context: context, isAnswered: isAnswered)
    }

    /// Where a redirect leads, and then this journey too; `nil`: the answer is none.
    @inline(never)
    private func next(
        after answer: StepResponse, to request: Request, _ asked: Request?
    ) async throws -> (Request, Journey)? {
        guard answer.response.status.isRedirect else { return nil }
        let policy = steps.steps.redirects ?? RedirectPolicy()
        guard
            let (hop, redirect) = try await policy.next(
                after: answer.response, to: request, asked: context.hop?.asked ?? asked,
                handler: steps.steps.redirectHandler,
                context: context)
        else { return nil }
        tell { .redirected(redirect) }
        await answer.discard(context)
        var context = context
        context.follow(redirect, to: hop)
        return (hop.adapted, Journey(self, context))
    }

    /// Once a hop: the steps around it, and inside of them each request on the wire.
    @inline(never)
    private func hop(_ request: Request) async throws -> StepResponse {
        if isFirst, let answered = situation.answered { return answered }
        if steps.steps.aroundHop.isEmpty { return try await exchange(request) }
        return try await throughAttempts(request, 0)
    }

    @inline(never)
    private func addingCookies(to request: Request) async -> Request {
        guard let jar = steps.steps.cookies, let url = CookieURL(request.url) else { return request }
        return request.adding(await jar.cookies(for: url))
    }

    @inline(never)
    private func keepCookies(of answer: StepResponse, to request: Request) async {
        guard answer.response.headerFields.contains(.setCookie), let jar = steps.steps.cookies,
            let url = CookieURL(request.url)
        else { return }
        await jar.store(answer.response.responseHead.texts(of: .setCookie), from: url)
    }

    @inline(never)
    private func throughAttempts(_ request: Request, _ depth: Int) async throws -> StepResponse {
        if depth == steps.steps.aroundHop.count { return try await exchange(request) }
        try Task.checkCancellation()
        return try await through(steps.steps.aroundHop[depth], request, nil) {
            try await self.throughAttempts($0, depth + 1)
        }
    }

    /// A request on the wire, as often as the steps around it want: with its cookies.
    @inline(__always)
    private func exchange(_ request: Request) async throws -> StepResponse {
        try Task.checkCancellation()
        return steps.steps.cookies == nil
            ? try await exchangeWithinLimits(request) : try await exchangeWithCookies(request)
    }

    @inline(never)
    private func exchangeWithCookies(_ request: Request) async throws -> StepResponse {
        let answer = try await exchangeWithinLimits(await addingCookies(to: request))
        await keepCookies(of: answer, to: request)
        return answer
    }

    /// When the limits of the request's host let it go.
    @inline(__always)
    private func exchangeWithinLimits(_ request: Request) async throws -> StepResponse {
        steps.steps.hasLimits ? try await exchangeInTurn(request) : try await exchangeAtOnce(request)
    }

    @inline(never)
    private func exchangeAtOnce(_ request: Request) async throws -> StepResponse {
        try await session.exchange(request, self, nil)
    }

    @inline(never)
    private func exchangeInTurn(_ request: Request) async throws -> StepResponse {
        try await exchange(request, steps.turn(for: request, context))
    }

    @inline(never)
    private func exchange(_ request: Request, _ turn: LimitTurn) async throws -> StepResponse {
        do {
            let answer = try await session.exchange(request, self, turn)
            turn.end(with: .success(answer), context)
            return answer
        } catch {
            turn.end(with: .failure(error), context)
            throw error
        }
    }

    @inline(never)
    private func tell(_ kind: () -> RequestEvent.Kind) {
        if let observer = situation.observer { observer.tell(kind(), attempt: context.attempt) }
    }

    // MARK: Retries

    /// An answer in memory is validated as part of its attempt, so that retriers hear of one that is refused.
    private func judged(_ end: AttemptEnd) async -> AttemptEnd {
        guard case .success(let answer) = end.result, situation.isCollected else { return end }
        return AttemptEnd(result: .success(await call.judged(answer)), context: end.context)
    }

    /// How long to wait before the next attempt; `nil`: the result stands.
    private func retry(after end: AttemptEnd, of request: Request) async throws -> Duration? {
        if steps.steps.retriers.isEmpty { return nil }
        return try await decision(on: end, of: context.hop?.asked ?? request)
    }

    @inline(never)
    private func decision(on end: AttemptEnd, of request: Request) async throws -> Duration? {
        guard let failed = call.failedAttempt(end.result), !end.isAnswered || failed.request.mayBeRepeated,
            let wait = try await wait(behind: failed, of: request)
        else { return nil }
        tell { .retrying(after: wait, because: end.result.failure) }
        return wait
    }

    private func wait(behind failed: FailedAttempt, of request: Request) async throws -> Duration? {
        for retrier in steps.steps.retriers {
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
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
