/// How requests on the wire keep to the limits of their hosts.
extension Steps {
    var hasLimits: Bool { circuitBreaker != nil || !rateLimiters.isEmpty }
}

extension AttachedSteps {
    /// Returns when a request's host has a closed circuit and the request's turn has come.
    ///
    /// - Throws: ``TrellisError`` of a kind ``TrellisError/Kind/circuitOpen`` or ``TrellisError/Kind/rateLimited``;
    ///   `CancellationError` in a cancelled task.
    @inline(never)
    func turn(for request: Request, _ context: CallContext) async throws -> LimitTurn {
        let turn = LimitTurn(of: request, breaker: steps.circuitBreaker, context)
        var tokens: [LimitTurn.Token] = []
        do {
            // Before the wait, which it saves, and behind it again, because that may be long.
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
