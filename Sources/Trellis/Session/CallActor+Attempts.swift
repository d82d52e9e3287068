import CurlEngine
import FoundationEssentials

/// What the journey of a call asks of it.
extension CallActor {
    /// Sends an attempt and waits for its whole answer. The call's end is the attempt's, and so is that of the task: it may be
    /// one of several that a step has made.
    nonisolated func collected(_ attempt: RequestActor) async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.send(attempt, collecting: reply) }
            }
        } onCancel: {
            attempt.cancelWithTask()
        }
    }

    /// Sends an attempt and waits for its head.
    nonisolated func head(_ attempt: RequestActor, inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.send(attempt, awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            attempt.cancelWithTask()
        }
    }

    func send(_ attempt: RequestActor, collecting reply: Reply<CollectedResponse>) {
        guard enlist(attempt) else { return reply.resume(with: .failure(CancellationError())) }
        attempt.onEngineThread.begin(collecting: reply)
    }

    func send(_ attempt: RequestActor, awaitingHead reply: Reply<Response>, inbox: BodyInbox) {
        guard enlist(attempt) else { return reply.resume(with: .failure(CancellationError())) }
        attempt.onEngineThread.begin(awaitingHead: reply, inbox: inbox)
    }
}

extension CallActor {
    /// What retriers are told, `nil` where there is nothing to retry.
    nonisolated func failedAttempt(_ result: Result<StepResponse, any Error>) -> FailedAttempt? {
        switch result {
        case .failure(let error): return FailedAttempt(request: sentRequest, error: error)
        case .success(let answer):
            guard answer.response.status.code >= 400 else { return nil }
            return FailedAttempt(request: sentRequest, response: answer.response)
        }
    }

    private nonisolated var sentRequest: Request {
        (record.withLock { $0.sent } ?? first?.prepared)?.transportRequest.request ?? asked.request
    }

    /// The whole answer, with the request that it answers.
    nonisolated func collected() async throws -> Answer {
        let (body, response) = try await collectedPair()
        var whole = Answer(request: sentRequest, response: response, body: body)
        whole.observer = observer
        return whole
    }

    /// The whole answer.
    nonisolated func collectedPair() async throws -> CollectedResponse {
        let answer = try await answer()
        if let data = answer.data { return (data, answer.response) }
        return (try await answer.body.collect(upTo: .max), answer.response)
    }
}
