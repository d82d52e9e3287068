import CurlEngine
import TrellisCore

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
    func validate(
        _ request: Request, for delivery: Delivery, _ steps: Steps, in cache: HTTPCache, leading leader: CacheTicket
    ) {
        var request = request
        if delivery == .memory { request.maximumBodySize = request.maximumBodySize ?? configuration.maximumBodySize }
        request.cacheMode = .noCache
        var background = Steps()
        (background.cache, background.cookies) = (steps.cache, steps.cookies)
        (background.circuitBreaker, background.rateLimiters) = (steps.circuitBreaker, steps.rateLimiters)
        (background.adaptiveConcurrency, background.signers) = (steps.adaptiveConcurrency, steps.signers)
        background.cachedResponseHandler = steps.cachedResponseHandler
        (background.redirectHandler, background.exchangeObserver) = (.doNotFollow, steps.exchangeObserver)
        validateInBackground(
            request, background, receive: { answer, context in await answer.store(context) },
            end: { leader.settle(.stored) }
        ) {
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
