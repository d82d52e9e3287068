import CurlEngine
import FoundationEssentials

/// The exchanges that the pipeline sends through the actor.
extension RequestActor {
    /// Sends an exchange and waits for its response with the complete body. The end of the call ends the exchange, and so does the
    /// cancellation of the task, which may be one of several that a step has created.
    nonisolated func collected(_ exchange: ExchangeActor) async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                submit { $0.send(exchange, collecting: reply) }
            }
        } onCancel: {
            exchange.cancelWithTask()
        }
    }

    /// Sends an exchange and waits for the head of its response.
    nonisolated func head(_ exchange: ExchangeActor, inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                submit { $0.send(exchange, awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            exchange.cancelWithTask()
        }
    }

    func send(_ exchange: ExchangeActor, collecting reply: Reply<CollectedResponse>) {
        guard enlist(exchange) else { return reply.resume(with: .failure(CancellationError())) }
        exchange.onEngineThread.begin(collecting: reply)
    }

    func send(_ exchange: ExchangeActor, awaitingHead reply: Reply<Response>, inbox: BodyInbox) {
        guard enlist(exchange) else { return reply.resume(with: .failure(CancellationError())) }
        exchange.onEngineThread.begin(awaitingHead: reply, inbox: inbox)
    }
}

extension RequestActor {
    /// Returns the failed attempt that is passed to retriers; `nil` if there is nothing to retry.
    nonisolated func failedAttempt(_ end: AttemptEnd) -> FailedAttempt? {
        let request = sentRequest(end.sent)
        switch end.result {
        case .failure(let error): return FailedAttempt(request: request, error: error)
        case .success(let answer):
            let error = answer.validationResult?.error
            guard error != nil || answer.response.status.code >= 400 else { return nil }
            return FailedAttempt(request: request, response: answer.response, body: answer.data, error: error)
        }
    }

    /// Validates a response in memory with the conditions of the first reader, if it has any, and returns the response with the result.
    nonisolated func validated(_ answer: StepResponse) async -> StepResponse {
        guard let body = answer.data, let conditions = call.record.withLock({ $0.conditions.first }) else {
            return answer
        }
        let whole = Answer(
            request: sentRequest(answer.sent), response: answer.response, body: body, observer: call.observer)
        var validated = answer
        validated.validationResult = await conditions.validationResult(of: whole)
        return validated
    }

    /// Returns the request of an attempt; if it is not known, the last request of the call, and before any was sent the caller's.
    nonisolated func sentRequest(_ prepared: PreparedRequest?) -> Request {
        let prepared = prepared ?? call.record.withLock { $0.sent } ?? first?.prepared
        return prepared?.request ?? call.request
    }

    /// Returns the response of a call for memory with its complete body.
    @inline(never)
    nonisolated func collected(_ response: StepResponse) async throws -> CollectedAnswer {
        CollectedAnswer(
            body: try await response.wholeBody(), response: response.response, sender: .call(self, response))
    }

    /// Runs the call in the caller's task and returns its response with the complete body.
    @inline(never)
    nonisolated func runCollecting(_ conditions: ReadingConditions?) async throws -> CollectedAnswer {
        try await collected(run(conditions))
    }

    /// Returns the response with the complete body to one more reader.
    nonisolated func collect(_ conditions: ReadingConditions?) async throws -> Answer {
        try await collected(answer(conditions)).answer
    }

    /// Performs the rest of a direct call, in a task that the deadline can cancel.
    ///
    /// - Parameters:
    ///   - end: The end of the first attempt, before its redirects.
    ///   - sent: The request of the first attempt as it was adapted; `nil` if an adapter has failed.
    @inline(never)
    nonisolated func proceed(
        after end: AttemptEnd, sent: Request?, _ conditions: ReadingConditions?
    ) async throws -> StepResponse {
        begin(with: conditions)
        return try await performInTask {
            do {
                return .success(try await Pipeline(self).continued(after: end, sent: sent))
            } catch {
                return .failure(error)
            }
        }
    }
}
