import CurlEngine
import Synchronization

/// The wait of a task for an exchange. Cancelling the task cancels the exchange.
extension ExchangeActor {
    /// Starts the exchange and waits for the response with its complete body.
    nonisolated func collected() async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                // A new exchange was not abandoned.
                _ = first.list.add(self, from: prepared.start, collecting: reply)
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
                _ = first.list.add(self, from: prepared.start, awaitingHead: reply)
                submit { $0.begin(awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            cancelWithTask()
        }
    }

    /// Cancels the exchange because the task that waits for it was cancelled. The task does not wait for an engine that is stuck.
    nonisolated func cancelWithTask() {
        if hasMoved {
            submitDirectly { $0.cancel(CancellationError()) }
        } else {
            submit { $0.cancel(CancellationError()) }
        }
        first.list.end(self, with: CancellationError())
    }
}

/// The results for the waiting tasks.
extension ExchangeActor {
    /// Resumes the waiters for the head and for the complete response.
    func deliverNow() {
        if let result = headToDeliver, let reply = whenHead {
            whenHead = nil
            headToDeliver = nil
            if first.list.takeHead(of: self) { reply.resume(with: result) }
            if state.isEnded { first.list.remove(self) }
        }
        guard let collected, let reply = whenCollected else { return }
        whenCollected = nil
        let others = whenCollectedToo
        whenCollectedToo = nil
        guard first.list.remove(self) else { return }
        reply.resume(with: collected)
        if let others { for reply in others { reply.resume(with: collected) } }
    }

    /// Ends an exchange that begins after its tasks were resumed, because the engine was stuck. Returns `false` if none were.
    func isAbandoned() -> Bool {
        guard wasAbandoned.load(ordering: .acquiring) else { return false }
        cancel(CancellationError())
        return true
    }
}

extension ExchangeActor: DeferredDelivery {
    nonisolated func deliver() { onEngineThread.deliverNow() }
}
