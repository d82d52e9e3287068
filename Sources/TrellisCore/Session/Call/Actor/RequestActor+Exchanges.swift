import CurlEngine
import FoundationEssentials

/// The exchanges that the pipeline sends through the actor.
extension RequestActor {
    /// Sends an exchange and waits for its response with the complete body. The end of the call ends the exchange, and so does the
    /// cancellation of the task, which may be one of several that a step has created.
    nonisolated func collected(_ exchange: ExchangeActor) async throws -> CollectedResponse {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                exchange.first.list.add(exchange)
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
                exchange.first.list.add(exchange)
                submit { $0.send(exchange, awaitingHead: reply, inbox: inbox) }
            }
        } onCancel: {
            exchange.cancelWithTask()
        }
    }

    func send(_ exchange: ExchangeActor, collecting reply: Reply<CollectedResponse>) {
        guard enlist(exchange) else {
            exchange.first.list.remove(exchange)
            return reply.resume(with: .failure(CancellationError()))
        }
        // An exchange that a handle has resumed before this may have moved. Otherwise a closure would cost an allocation.
        guard exchange.hasMoved else { return exchange.onEngineThread.begin(collecting: reply) }
        exchange.perform { $0.begin(collecting: reply) }
    }

    func send(_ exchange: ExchangeActor, awaitingHead reply: Reply<Response>, inbox: BodyInbox) {
        guard enlist(exchange) else {
            exchange.first.list.remove(exchange)
            return reply.resume(with: .failure(CancellationError()))
        }
        guard exchange.hasMoved else { return exchange.onEngineThread.begin(awaitingHead: reply, inbox: inbox) }
        exchange.perform { $0.begin(awaitingHead: reply, inbox: inbox) }
    }
}

extension RequestActor {
    /// Returns the response of a call for memory with its complete body.
    @inline(never)
    nonisolated func collected(_ response: StepResponse) async throws -> Answer {
        Answer(response, try await response.wholeBody(), observer: call.observer)
    }

    /// Performs the call of a verb and returns its response with the complete body.
    @inline(never)
    nonisolated func runCollecting(_ conditions: ReadingConditions?) async throws -> Answer {
        try await collected(run(conditions))
    }

    /// Returns the response with the complete body to one more reader.
    nonisolated func collect(_ conditions: ReadingConditions?) async throws -> Answer {
        try await collected(answer(conditions))
    }

    /// Performs the rest of a call that began without an actor, in a task that the deadline can cancel.
    ///
    /// - Parameter conditions: The conditions that the caller has of the response; `nil` if it accepts any.
    @inline(never)
    nonisolated func proceed(
        _ conditions: ReadingConditions?, with work: @escaping @Sendable () async -> Result<StepResponse, any Error>
    ) async throws -> StepResponse {
        begin(with: conditions)
        return try await performInTask(work)
    }
}
