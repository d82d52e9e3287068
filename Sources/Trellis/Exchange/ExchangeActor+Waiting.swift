import CurlEngine

/// The wait of a task for an exchange. Cancelling the task cancels the exchange.
extension ExchangeActor {
    /// Starts the exchange and waits for the response with its complete body.
    nonisolated func collected() async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                submit(reply) { $0.begin(collecting: $1) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Starts the exchange and waits for the head of its response.
    nonisolated func head(inbox: BodyInbox) async throws -> Response {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                submit { $0.begin(awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Cancels the exchange because the task that waits for it was cancelled.
    nonisolated func cancelWithTask() {
        if hasMoved {
            submitDirectly { $0.cancel(CancellationError()) }
        } else {
            submit { $0.cancel(CancellationError()) }
        }
    }
}
