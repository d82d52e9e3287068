import CurlEngine
import FoundationEssentials
import Synchronization

/// The state that all handles on one request share. It ends the request when the last handle is released, and keeps its session alive until
/// then.
final class RequestHandle: Sendable {
    /// The request's actor, or the error because of which the request could not be created.
    let call: Result<RequestActor, any Error>
    let session: Session
    /// Indicates whether a response or an error was received. Nothing has to be ended then, and the engine need not be woken.
    private let hasEnded = Atomic(false)

    init(_ call: Result<RequestActor, any Error>, session: Session) {
        self.call = call
        self.session = session
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        try? call.get().end(CancellationError())
    }

    /// The method, the URL without its secrets, and the number of the call; the error if the request could not be created.
    var description: String {
        switch call {
        case .success(let actor):
            let request = actor.call.request
            return "\(request.method.rawValue) \(URLRedaction.redact(actor.completeURL)) (call \(actor.call.id))"
        case .failure(let error): return "failed: \(error)"
        }
    }

    /// Returns the request as the first attempt sends it, if no step changes it.
    func request() throws -> Request {
        let call = try call.get()
        let prepared =
            try call.first?.prepared
            ?? session.preparation.prepare(call.call.request, delivery: call.call.delivery, start: session.clock.now())
        return prepared.transportRequest.request
    }

    /// Sends the request, unless it was already sent, and waits for the head of its response.
    func response() async throws -> StepResponse {
        do {
            let response = try await call.get().answer()
            hasEnded.store(true, ordering: .relaxed)
            return response
        } catch is CancellationError {
            guard !Task.isCancelled else { throw CancellationError() }
            throw TrellisError(.cancelled(.explicitly), method: try? request().method, url: try? request().url)
        } catch {
            hasEnded.store(true, ordering: .relaxed)
            throw error
        }
    }

    /// Sends the request, unless it was already sent, and waits for the response with its complete body.
    ///
    /// - Parameter conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` if the request ended with its other readers.
    func answer(_ conditions: ReadingConditions?) async throws -> Answer {
        do {
            let answer = try await call.get().collect(conditions)
            hasEnded.store(true, ordering: .relaxed)
            return answer
        } catch is CancellationError {
            // Other readers may still wait for the response.
            guard !Task.isCancelled else { throw CancellationError() }
            throw TrellisError(.cancelled(.explicitly), method: try? request().method, url: try? request().url)
        } catch {
            hasEnded.store(true, ordering: .relaxed)
            throw error
        }
    }
}
