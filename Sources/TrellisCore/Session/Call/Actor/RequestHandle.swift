import CurlEngine
import FoundationEssentials
import Synchronization

/// The state that all handles on one request share. It ends the request when the last handle is released, and keeps its session alive until
/// then.
final class RequestHandle: Sendable {
    /// The request's actor, or the error that prevented it.
    let actor: Result<RequestActor, any Error>
    let session: Session
    /// Whether a response or an error was received. Nothing has to be ended then, and the engine need not be woken.
    private let hasEnded = Atomic(false)

    init(_ actor: Result<RequestActor, any Error>, session: Session) {
        self.actor = actor
        self.session = session
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        try? actor.get().end(CancellationError())
    }

    /// The method, the URL without its secrets, and the number of the call; the error if the request could not be created.
    var description: String {
        switch actor {
        case .success(let actor):
            let request = actor.call.request
            return "\(request.method.rawValue) \(URLRedaction.redact(actor.call.completeURL)) (call \(actor.call.id))"
        case .failure(let error): return "failed: \(error)"
        }
    }

    /// Returns the request as the first attempt sends it, if no step changes it.
    func request() throws -> Request {
        let call = try actor.get().call
        let now = session.clock.now()
        return try session.preparation.prepare(call.request, delivery: call.delivery, start: now).request
    }

    /// The number of the call in its process; `nil` if the request could not be created.
    var callID: UInt64? { try? actor.get().call.id }

    /// The exchanges that have ended, in their order.
    var exchanges: [RequestExchange] { (try? actor.get())?.call.record.withLock { $0.exchanges } ?? [] }

    /// The number of attempts after the first one.
    var retryCount: Int { (exchanges.map(\.attempt).max() ?? 1) - 1 }

    /// The state of the request at this moment.
    var state: RequestState {
        get async {
            guard case .success(let actor) = actor else { return .finished }
            return await actor.currentState
        }
    }

    /// Returns the progress of one of the request's bodies. The first value that a reader requests starts the request.
    ///
    /// - Parameters:
    ///   - validation: The conditions of the handle whose progress is read.
    ///   - meter: The meter of the body.
    func progress(
        _ validation: Validation = Validation(), of meter: (RequestActor) -> ProgressBroadcaster
    ) -> TransferProgressSequence {
        guard case .success(let actor) = actor else { return .ended }
        return TransferProgressSequence(meter(actor)) { [weak actor] in
            actor?.beginForProgress(.of(validation, withDefaults: false))
        }
    }

    /// Sends the request, unless it was already sent, and waits for the head of its response.
    func response() async throws -> StepResponse { try await read { try await $0.answer() } }

    /// Sends the request, unless it was already sent, and waits for the response with its complete body.
    ///
    /// - Parameter conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    func answer(_ conditions: ReadingConditions?) async throws -> Answer {
        try await read { try await $0.collected($0.answer(conditions)) }
    }

    /// Waits for a result of the request.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` if the request ended with its other readers.
    private func read<Result>(_ body: (RequestActor) async throws -> Result) async throws -> Result {
        do {
            let result = try await body(actor.get())
            hasEnded.store(true, ordering: .relaxed)
            return result
        } catch is CancellationError {
            // Other readers may still wait for the response. The error of a step is the reader's, as for a verb.
            guard !Task.isCancelled, let actor = try? actor.get(), await actor.currentState == .cancelled else {
                throw CancellationError()
            }
            throw TrellisError(
                .cancelled(.explicitly), method: actor.call.request.method,
                url: URLRedaction.redact(actor.call.completeURL))
        } catch {
            hasEnded.store(true, ordering: .relaxed)
            throw error
        }
    }
}
