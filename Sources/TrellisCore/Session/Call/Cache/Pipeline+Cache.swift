import CurlEngine

/// The cache of an exchange: a stored response in place of the exchange, or the exchange, whose response may be stored.
extension Pipeline {
    /// Returns the response to a request from a cache of the user's.
    ///
    /// - Parameter asked: The request without the cookies of the session.
    @inline(never)
    func exchangeWithOtherCache(_ request: Request, asked: Request) async throws -> StepResponse {
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
    func answerAtOnce(_ turn: CacheTurn) throws -> StepResponse? {
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
    func exchange(_ turn: CacheTurn) async throws -> StepResponse { recorded(try await turn.run(), turn) }

    private func recorded(_ answer: StepResponse, _ turn: CacheTurn) -> StepResponse {
        if answer.sent === turn.lookup { last.note(turn.lookup) }
        if let status = answer.response.cacheStatus {
            turn.cache.record(status)
            tell { .cacheUsed(status) }
            call.exchangeObserver?.didUseCache(status, for: turn.request, context: context)
        }
        return answer
    }
}

extension Session {
    /// Validates a stored response in the background, as an operation of the session's own (RFC 5861, section 3), which ends with it.
    ///
    /// It has the limits of the request that used the stale response, or, for a stream, the limit in time of a response in memory: nobody
    /// waits for it who could cancel it. It receives a body only as long as that is being stored.
    ///
    /// - Parameters:
    ///   - delivery: The delivery of the request that used the stale response.
    ///   - steps: The steps of the request that used the stale response.
    ///   - leader: The ticket with which no other request validates the same response.
    func validateInBackground(
        _ request: Request, for delivery: Delivery, _ steps: Steps, in cache: HTTPCache, leading leader: CacheTicket
    ) {
        var request = request
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = preparation.limits(of: request, delivery: .memory).total.map { .nanoseconds($0) }
        request.timeouts = timeouts
        if delivery == .memory { request.maximumBodySize = request.maximumBodySize ?? configuration.maximumBodySize }
        request.attachment = nil
        request.cacheMode = .noCache
        var background = Steps()
        (background.cache, background.cookies) = (steps.cache, steps.cookies)
        (background.circuitBreaker, background.rateLimiters) = (steps.circuitBreaker, steps.rateLimiters)
        background.signers = steps.signers
        background.cachedResponseHandler = steps.cachedResponseHandler
        (background.redirectHandler, background.exchangeObserver) = (.doNotFollow, steps.exchangeObserver)
        let call = backgroundCall(for: request, AttachedSteps(background))
        let work = { @Sendable in
            // A failure leaves the stored response as it is.
            if let answer = try? await call.run() { await answer.store(CallContext(call.call)) }
            leader.settle(.stored)
        }
        validations.begin(in: actor, work) {
            // An entry that a storage makes visible later, in spite of that, is removed again.
            cache.exchanges.invalidate(leader.key)
            leader.settle(.left)
        }
    }
}

extension StepResponse {
    /// Receives the body as long as it is being stored, and ends the transfer.
    fileprivate func store(_ context: CallContext) async {
        // The body of a stored response has not to be received.
        guard case .source(let token) = content, let source = token.source as? StoringSource else { return }
        do { while source.isStoring, try await source.next() != nil {} } catch {}
        // The session may have cancelled the validation, and waits for its end.
        await source.waitForCommit()
        await discard(context)
    }
}
