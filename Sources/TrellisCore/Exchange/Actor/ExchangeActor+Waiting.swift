import CurlEngine

/// The wait of a task for an exchange. Cancelling the task cancels the exchange.
extension ExchangeActor {
    /// Starts the exchange and waits for the response with its complete body.
    nonisolated func collected() async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                first.list.add(self)
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
                first.list.add(self)
                submit { $0.begin(awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Cancels the exchange because the task that waits for it was cancelled.
    nonisolated func cancelWithTask() {
        marks.keepFromStarting()
        submit { $0.cancel(CancellationError()) }
    }
}

/// The results for the waiting tasks.
extension ExchangeActor {
    /// Resumes the waiters for the head and for the complete response.
    func deliverNow() {
        if let result = headToDeliver, let reply = whenHead {
            whenHead = nil
            headToDeliver = nil
            reply.resume(with: result)
            if state.isEnded { first.list.remove(self) }
        }
        guard let collected, let reply = whenCollected else { return }
        whenCollected = nil
        let others = whenCollectedToo
        whenCollectedToo = nil
        first.list.remove(self)
        reply.resume(with: collected)
        if let others { for reply in others { reply.resume(with: collected) } }
    }
}

extension ExchangeActor: DeferredDelivery {
    nonisolated func deliver() { onEngineThread.deliverNow() }
}
