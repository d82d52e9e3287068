import CurlEngine
import FoundationEssentials

/// What the journey of a call asks of it.
extension RequestActor {
    /// Sends an attempt and waits for its whole answer. The call's end is the attempt's, and so is that of the task: it may be
    /// one of several that a step has made.
    nonisolated func collected(_ attempt: ExchangeActor) async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.send(attempt, collecting: reply) }
            }
        } onCancel: {
            attempt.cancelWithTask()
        }
    }

    /// Sends an attempt and waits for its head.
    nonisolated func head(_ attempt: ExchangeActor, inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.send(attempt, awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            attempt.cancelWithTask()
        }
    }

    func send(_ attempt: ExchangeActor, collecting reply: Reply<CollectedResponse>) {
        guard enlist(attempt) else { return reply.resume(with: .failure(CancellationError())) }
        attempt.onEngineThread.begin(collecting: reply)
    }

    func send(_ attempt: ExchangeActor, awaitingHead reply: Reply<Response>, inbox: BodyInbox) {
        guard enlist(attempt) else { return reply.resume(with: .failure(CancellationError())) }
        attempt.onEngineThread.begin(awaitingHead: reply, inbox: inbox)
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
        guard let body = answer.data, let conditions = record.withLock({ $0.conditions.first }) else { return answer }
        var whole = Answer(request: sentRequest, response: answer.response, body: body)
        whole.observer = observer
        var judged = answer
        judged.verdict = await conditions.verdict(on: whole)
        return judged
    }

    private nonisolated var sentRequest: Request {
        (record.withLock { $0.sent } ?? first?.prepared)?.transportRequest.request ?? request
    }

    /// The whole answer, with the request that it answers.
    nonisolated func collected(_ conditions: ReadingConditions?) async throws -> Answer {
        let answer = try await answer(conditions)
        var whole = Answer(
            request: sentRequest, response: answer.response, body: try await answer.wholeBody())
        whole.observer = observer
        whole.verdict = answer.verdict
        return whole
    }

    /// The whole answer, for a reader that accepts any.
    nonisolated func collectedPair() async throws -> CollectedResponse {
        let answer = try await answer()
        return (try await answer.wholeBody(), answer.response)
    }
}
