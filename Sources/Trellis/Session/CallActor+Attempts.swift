import CurlEngine
import FoundationEssentials

/// What the journey of a call asks of it.
extension CallActor {
    /// Sends an attempt and waits for its whole answer. The call's end is the attempt's.
    nonisolated func collected(_ attempt: RequestActor) async throws -> CollectedResponse {
        try await withReply { reply in
            executor.submit { self.onEngineThread.send(attempt, collecting: reply) }
        }
    }

    /// Sends an attempt and waits for its head.
    nonisolated func head(_ attempt: RequestActor, inbox: BodyInbox) async throws -> Response {
        try await withReply { reply in
            executor.submit { self.onEngineThread.send(attempt, awaitingHead: reply, inbox: inbox) }
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
        sent.withLock { $0 } ?? first?.prepared.transportRequest.request ?? request
    }

    /// The whole answer, with the request that it answers.
    nonisolated func collected() async throws -> Answer {
        let answer = try await answer()
        let body: Data = if let data = answer.data { data } else { try await answer.body.collect(upTo: .max) }
        var whole = Answer(request: sentRequest, response: answer.response, body: body)
        whole.observer = observer
        return whole
    }
}
