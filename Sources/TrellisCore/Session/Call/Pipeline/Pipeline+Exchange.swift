import CurlEngine

/// The stages around an exchange, outermost first: cookies, the cache, the limits, the observation, the way to the server, and the request
/// on the wire. A stage whose answer does not wait is asked by a function of its own that does not wait, either.
extension Pipeline {
    /// Runs one exchange with its cookies. If a network step sends two requests, such as Digest authentication, the second request
    /// includes the cookies of the first response.
    @inline(__always)
    func exchange(_ request: Request) async throws -> StepResponse {
        try check(request)
        if usesCache { return try await exchangeThroughCache(request) }
        return hasCookies ? try await exchangeWithCookies(request) : try await exchangeWithinLimits(request)
    }

    // Properties of their own keep copies of the steps out of the frames of waiting calls.
    private var usesCache: Bool { steps.cache != nil && call.delivery != .connection }
    private var hasCookies: Bool { steps.cookies != nil }
    private var hasLimits: Bool { steps.hasLimits }

    /// Throws the error of a call that has ended, and ``NeedsTask`` if the call has no actor and its request has to wait: for a disk, for
    /// certificates, or for a decision about its way.
    @inline(never)
    private func check(_ request: Request) throws {
        try call.checkCancellation()
        // Otherwise the session has looked already.
        let mayDiffer = !attached.adapters.isEmpty || session.configuration.secureHosts != nil || !isFirst
        guard actor == nil, mayDiffer else { return }
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

    /// Returns the response to a request from a cache, of the framework's or of the user's.
    @inline(never)
    private func exchangeThroughCache(_ asked: Request) async throws -> StepResponse {
        let request = hasCookies ? await addingCookies(to: asked) : asked
        guard let cache = attached.httpCache else { return try await exchangeWithOtherCache(request, asked: asked) }
        let turn = try CacheTurn(self, cache, request, asked: asked)
        if let answer = try answerAtOnce(turn) { return answer }
        if actor == nil { try enter() }
        return try await exchange(turn)
    }

    /// Returns the response to a request from a cache of the user's.
    ///
    /// - Parameter asked: The request without the cookies of the session.
    @inline(never)
    private func exchangeWithOtherCache(_ request: Request, asked: Request) async throws -> StepResponse {
        guard let cache = steps.cache else { return try await exchangeForCache(request) }
        let next = NextStep(
            origin: (call, attached),
            responseOfCache: { request, cache in
                try await self.exchange(try CacheTurn(self, cache, request, asked: asked))
            },
            { try await self.exchangeForCache($0) })
        return try await cache.response(to: request, context: context, next: next).answering(last)
    }

    /// Returns the stored response to a request, if the storage has it in memory.
    @inline(never)
    private func answerAtOnce(_ turn: CacheTurn) throws -> StepResponse? {
        guard let storage = attached.immediate.cache?.storage, let answer = turn.answerAtOnce(from: storage) else {
            return nil
        }
        try call.checkCancellation()
        // Otherwise the session knows the call.
        if actor == nil, !isListed, session.life.isShutDown { throw TrellisError.sessionIsShutDown }
        return recorded(answer, turn)
    }

    /// Returns the response to a request from the cache or from the server.
    @inline(never)
    private func exchange(_ turn: CacheTurn) async throws -> StepResponse { recorded(try await turn.run(), turn) }

    private func recorded(_ answer: StepResponse, _ turn: CacheTurn) -> StepResponse {
        if answer.sent === turn.lookup { last.note(turn.lookup) }
        if let status = answer.response.cacheStatus {
            turn.cache.record(status)
            tell { .cacheUsed(status) }
            call.exchangeObserver?.didUseCache(status, for: turn.request, context: context)
        }
        return answer
    }

    /// Runs one exchange of the cache. The cookies of stored responses were stored when they were received.
    @inline(never)
    func exchangeForCache(_ request: Request) async throws -> StepResponse {
        let answer = try await exchangeWithinLimits(request)
        if hasCookies, !keepCookiesAtOnce(of: answer, to: request) { await keepCookies(of: answer, to: request) }
        return answer
    }

    // MARK: Limits

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
        let permit: LimitPermit
        if let known = try permitAtOnce(for: request) {
            permit = known
        } else {
            permit = try await attached.permit(for: request, context)
        }
        do {
            let answer = try await exchangeOnRoute(request, permit)
            permit.end(with: answer.response.status, nil, context)
            return answer
        } catch {
            permit.end(with: nil, error, context)
            throw error
        }
    }

    /// Returns the permit of a request that no rate limiter delays; `nil` if there are rate limiters.
    @inline(never)
    private func permitAtOnce(for request: Request) throws -> LimitPermit? {
        guard steps.rateLimiters.isEmpty, let breaker = steps.circuitBreaker else { return nil }
        return try LimitPermit(of: request, enteringCircuitOf: breaker, context)
    }

    // MARK: The observation and the way to the server

    /// Runs one exchange on its route to the server.
    @inline(__always)
    private func exchangeOnRoute(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        if let observer = call.exchangeObserver { return try await exchangeObserved(request, permit, observer) }
        return try await exchangeUnobserved(request, permit)
    }

    @inline(never)
    private func exchangeObserved(
        _ request: Request, _ permit: LimitPermit?, _ observer: any ExchangeObserver
    ) async throws -> StepResponse {
        let (request, observation) = observer.begin(request, context: context)
        do {
            let answer = try await exchangeUnobserved(request, permit)
            if let observation { end(observation, with: answer) }
            return answer
        } catch {
            observation?.end(with: error)
            throw error
        }
    }

    private func end(_ observation: any ExchangeObservation, with answer: StepResponse) {
        observation.end(with: answer.response, isStreamed: answer.data == nil)
        guard call.delivery == .stream, case .source(let token) = answer.content,
            let source = token.source as? StreamSource
        else { return }
        let last = StreamObservation(observation)
        source.exchange.submitDirectly { exchange in
            exchange.whenEnded { last.observation.endBody(with: $0) }
        }
    }

    @inline(__always)
    private func exchangeUnobserved(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        session.configuration.alternatives == nil
            ? try await sendToOrigin(request, permit) : try await sendWithAlternatives(request, permit)
    }

    /// Sends a request to its origin, through the proxies of its rule.
    @inline(__always)
    func sendToOrigin(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        session.preparation.mustSelectRoute(for: request)
            ? try await sendThroughProxies(request, permit) : try await send(request, permit)
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
        if mayLoadTrust { try await loadTrust(for: request) }
        let sizes = request.hasFiles ? try await FileSizes(of: request.body) : nil
        let exchange =
            if mustSign { try await makeSignedExchange(request, permit, sizes) } else {
                try makeExchange(of: request, permit: permit, sizes: sizes)
            }
        do {
            switch call.delivery {
            case .memory:
                if let actor { return received(try await actor.collected(exchange), to: request, exchange) }
                return received(try await exchange.collected(), to: request, exchange)
            case .stream, .connection:
                let answer = try await session.stream(exchange) { inbox in
                    if let actor { return try await actor.head(exchange, inbox: inbox) }
                    return try await exchange.head(inbox: inbox)
                }
                record(answer, to: request, exchange)
                return answer
            }
        } catch {
            throw failed(error, of: request, exchange)
        }
    }

    @inline(never)
    private func received(
        _ collected: CollectedResponse, to request: Request, _ exchange: ExchangeActor
    ) -> StepResponse {
        let (body, response) = collected
        let answer = StepResponse(response: response, content: .data(body), to: exchange.prepared)
        record(answer, to: request, exchange)
        return answer
    }

    /// Records the response to an exchange.
    @inline(never)
    private func record(_ answer: StepResponse, to request: Request, _ exchange: ExchangeActor) {
        session.learnUpgrades(from: answer.response.head, of: exchange.prepared)
        call.note(request)
        call.record(exchange.prepared, answer.response.metrics, attempt: context.attempt)
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

    /// Whether the request is signed: signers sign for the origin of the call alone.
    private var mustSign: Bool { !steps.signers.isEmpty && !context.hasLeftOrigin }

    /// Makes the exchange of a request with the changes of its signers.
    @inline(never)
    private func makeSignedExchange(
        _ request: Request, _ permit: LimitPermit?, _ sizes: FileSizes?
    ) async throws -> ExchangeActor {
        let asked = call.delivery == .connection ? request.withKeyOfConnection : request
        let signed = try await session.preparation.signed(asked, by: steps.signers, in: context, sizes: sizes)
        return try makeExchange(of: signed, permit: permit, sizes: sizes, hasKey: true)
    }

    /// - Parameter hasKey: Whether the request has its key for this connection, so that no other one is chosen.
    @inline(never)
    private func makeExchange(
        of request: Request, permit: LimitPermit?, sizes: FileSizes?, hasKey: Bool = false
    ) throws -> ExchangeActor {
        let request = call.delivery == .connection && !hasKey ? request.withKeyOfConnection : request
        if actor == nil { try enter() }
        let deadline = call.deadline
        let mayCut = call.delivery == .memory && !attached.mayReplaceResponses
        let history = AttemptHistory(
            earlierAttempts: context.attempt - 1, redirects: context.redirects, hasLeftOrigin: context.hasLeftOrigin,
            limit: deadline.limit, start: permit?.takeStart() ?? waitStart(deadline), observer: call.observer,
            hasRedirectHandler: steps.redirectHandler != nil, mayCutBodies: mayCut, starts: call.starts,
            onStart: permit?.recordSending, mayBeRepeated: actor != nil || !steps.retriers.isEmpty,
            listedCall: actor == nil ? call : nil)
        let prepared = try session.preparation.prepare(
            request, delivery: call.delivery, start: deadline.start, history: history, sizes: sizes, callID: call.id)
        let readers = mayCut ? readers : nil
        let exchange = session.makeExchange(
            prepared, of: actor, readers: cacheLead.map { CacheHeadReader($0, readers) } ?? readers)
        last.note(prepared)
        return exchange
    }

    /// The readers of a response in memory.
    private var readers: (any HeadValidator)? { if actor == nil { conditions } else { call.record } }

    /// Returns the instant from which an exchange waits for its slot: not before code of the user's, which takes time, has returned.
    private func waitStart(_ deadline: CallDeadline) -> EngineInstant {
        actor == nil && isFirst && !attached.immediate.hasUserCode ? deadline.start : call.clock.now()
    }

    @inline(never)
    func tell(_ kind: () -> RequestEvent.Kind) {
        if let observer = call.observer { observer.tell(kind(), attempt: context.attempt) }
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
