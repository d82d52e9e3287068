import CurlEngine

/// How tasks wait for a request: the task's cancellation becomes the request's.
extension ExchangeActor {
    /// Starts the request and waits for the whole answer.
    nonisolated func collected() async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.begin(collecting: reply) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Starts the request and waits for its head.
    nonisolated func head(inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                executor.submit { self.onEngineThread.begin(awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    nonisolated func cancelWithTask() {
        executor.submit { self.onEngineThread.cancel(CancellationError()) }
    }
}
