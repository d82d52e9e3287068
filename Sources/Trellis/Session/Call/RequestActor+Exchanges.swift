import CurlEngine
import FoundationEssentials

/// What the journey of a call asks of it.
extension RequestActor {
    /// Sends an attempt and waits for its whole answer. The call's end is the attempt's, and so is that of the task: it may be
    /// one of several that a step has made.
    nonisolated func collected(_ exchange: ExchangeActor) async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.send(exchange, collecting: reply) }
            }
        } onCancel: {
            exchange.cancelWithTask()
        }
    }

    /// Sends an attempt and waits for its head.
    nonisolated func head(_ exchange: ExchangeActor, inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.send(exchange, awaitingHead: reply, inbox: inbox) }
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
    /// What retriers are told, `nil` where there is nothing to retry.
    nonisolated func failedAttempt(_ result: Result<StepResponse, any Error>) -> FailedAttempt? {
        switch result {
        case .failure(let error): return FailedAttempt(request: sentRequest, error: error)
        case .success(let answer):
            let error = answer.verdict?.error
            guard error != nil || answer.response.status.code >= 400 else { return nil }
            return FailedAttempt(
                request: sentRequest, response: answer.response, body: answer.data, error: error)
        }
    }

    /// An answer in memory with the verdict of the reader that came first, where that has conditions.
    nonisolated func judged(_ answer: StepResponse) async -> StepResponse {
        guard let body = answer.data, let conditions = call.record.withLock({ $0.conditions.first }) else { return answer }
        var whole = Answer(request: sentRequest, response: answer.response, body: body)
        whole.observer = call.observer
        var judged = answer
        judged.verdict = await conditions.verdict(on: whole)
        return judged
    }

    private nonisolated var sentRequest: Request {
        (call.record.withLock { $0.sent } ?? first?.prepared)?.transportRequest.request ?? call.request
    }

    /// The response of a call for memory, with its whole body and the request that it answers.
    nonisolated func answer(of response: StepResponse) async throws -> Answer {
        var whole = Answer(
            request: sentRequest, response: response.response, body: try await response.wholeBody())
        whole.observer = call.observer
        whole.verdict = response.verdict
        return whole
    }

    /// Runs the call in the caller's task and returns its response with the whole body.
    nonisolated func runCollecting(_ conditions: ReadingConditions?) async throws -> Answer {
        try await answer(of: run(conditions))
    }

    /// Returns the response with the whole body to one more reader.
    nonisolated func collect(_ conditions: ReadingConditions?) async throws -> Answer {
        try await answer(of: answer(conditions))
    }
}
