import CurlEngine

/// The cache of an exchange: a stored response in place of the exchange, or the exchange, whose response may be stored.
extension Pipeline {
    /// Returns the response to a request from a cache, of the framework's or of the user's.
    ///
    /// - Parameter asked: The request without the cookies of the session.
    @inline(__always)
    func exchange(
        _ request: Request, asked: Request, through cache: any ResponseCaching
    ) async throws -> StepResponse {
        if let cache = self.request.steps.httpCache { return try await exchangeWithCache(request, asked: asked, cache) }
        return try await exchangeWithOtherCache(request, asked: asked, cache)
    }

    @inline(never)
    private func exchangeWithOtherCache(
        _ request: Request, asked: Request, _ cache: any ResponseCaching
    ) async throws -> StepResponse {
        let next = NextStep(
            origin: (call, self.request.steps),
            responseOfCache: { request, cache in
                try await self.exchangeWithCache(request, asked: asked, cache)
            },
            { try await self.exchangeForCache($0) })
        return try await cache.response(to: request, context: context, next: next).answering(last)
    }

    /// Returns the response to a request from the cache or from the server.
    ///
    /// - Parameters:
    ///   - request: The request as it is sent, with the cookies of the session.
    ///   - asked: The request without them.
    @inline(never)
    func exchangeWithCache(_ request: Request, asked: Request, _ cache: HTTPCache) async throws -> StepResponse {
        let turn = try CacheTurn(self, cache, request, asked: asked)
        let answer = try await turn.run()
        if answer.sent === turn.lookup { last.note(turn.lookup) }
        if let status = answer.response.cacheStatus {
            cache.record(status)
            tell { .cacheUsed(status) }
            call.exchangeObserver?.didUseCache(status, for: request, context: context)
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
