import CurlEngine

/// The cache of an exchange: a stored response in place of the exchange, or the exchange, whose response may be stored.
extension Pipeline {
    /// Returns the response to a request from the cache or from the server.
    ///
    /// - Parameters:
    ///   - request: The request as it is sent, with the cookies of the session.
    ///   - asked: The request without them.
    @inline(never)
    func exchangeWithCache(_ request: Request, asked: Request, _ cache: HTTPCache) async throws -> StepResponse {
        let turn = try CacheTurn(self, cache, request, asked: asked)
        let answer = try await turn.run()
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
    /// - Parameters:
    ///   - steps: The steps of the request that used the stale response.
    ///   - leader: The ticket with which no other request validates the same response.
    func validateInBackground(_ request: Request, _ steps: Steps, _ leader: CacheTicket) {
        var request = request
        request.attachment = nil
        request.cacheMode = .noCache
        var background = Steps()
        (background.cache, background.cookies) = (steps.cache, steps.cookies)
        (background.circuitBreaker, background.rateLimiters) = (steps.circuitBreaker, steps.rateLimiters)
        background.cachedResponseHandler = steps.cachedResponseHandler
        (background.redirectHandler, background.exchangeObserver) = (.doNotFollow, steps.exchangeObserver)
        let call = backgroundCall(for: request, AttachedSteps(background))
        let work = { @Sendable in
            // A failure leaves the stored response as it is.
            if let answer = try? await call.run() {
                let body = StreamResponse(answer).body
                do { for try await _ in body {} } catch {}
            }
            leader.settle(.stored)
        }
        validations.begin(in: actor, work) {
            // An entry that a storage makes visible later, in spite of that, is removed again.
            steps.cache?.exchanges.invalidate(leader.key)
            leader.settle(.left)
        }
    }
}
