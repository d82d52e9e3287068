/// The limits per host for requests on the wire.
extension Steps {
    var hasLimits: Bool { circuitBreaker != nil || !rateLimiters.isEmpty }
}

extension AttachedSteps {
    /// Returns the turn of a request when its host has a closed circuit and all limiters have admitted the request.
    ///
    /// - Throws: ``TrellisError`` of a kind ``TrellisError/Kind/circuitOpen`` or ``TrellisError/Kind/rateLimited``;
    ///   `CancellationError` in a cancelled task.
    @inline(never)
    func turn(for request: Request, _ context: CallContext) async throws -> LimitPermit {
        let turn = LimitPermit(of: request, breaker: steps.circuitBreaker, context)
        var tokens: [LimitPermit.Token] = []
        do {
            // The circuit is checked before the wait, to save the wait, and again after it, because the wait may be long.
            try turn.checkCircuit(context)
            for index in steps.rateLimiters.indices {
                tokens.append(try await turn.token(of: steps.rateLimiters[index], context))
            }
            try turn.begin(with: tokens, context)
            return turn
        } catch {
            throw turn.abandon(error, with: tokens, request, context)
        }
    }
}
