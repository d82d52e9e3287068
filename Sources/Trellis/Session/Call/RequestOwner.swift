import CurlEngine
import FoundationEssentials
import Synchronization

/// What the handles on one request share. Ends the request when the last of them goes, and keeps its session until then.
final class RequestOwner: Sendable {
    let call: Result<RequestActor, any Error>
    let session: Session
    /// An answer or an error has come, so that there is nothing left to end, and no need to wake the engine for it.
    private let hasEnded = Atomic(false)

    init(_ call: Result<RequestActor, any Error>, session: Session) {
        self.call = call
        self.session = session
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        try? call.get().end(CancellationError())
    }

    /// The method, the URL without its secrets, and the number of the call; the error where the request could not be made.
    var description: String {
        switch call {
        case .success(let actor):
            let request = actor.call.request
            return "\(request.method.rawValue) \(URLRedaction.redact(request.url)) (call \(actor.call.id))"
        case .failure(let error): return "failed: \(error)"
        }
    }

    /// The request as the first attempt sends it, if no step changes it.
    func request() throws -> Request {
        let call = try call.get()
        let prepared =
            try call.first?.prepared
            ?? session.preparation.prepare(call.call.request, delivery: call.call.delivery, start: session.clock.now())
        return prepared.transportRequest.request
    }

    /// Sends the request, unless it was sent, and waits for the head of its response.
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

    /// Sends the request, unless it was sent, and waits for the whole answer.
    ///
    /// - Parameter conditions: What the reader accepts; `nil`: any answer.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` where the request ended with its other readers.
    func answer(_ conditions: ReadingConditions?) async throws -> Answer {
        do {
            let answer = try await call.get().collect(conditions)
            hasEnded.store(true, ordering: .relaxed)
            return answer
        } catch is CancellationError {
            // Other readers may still wait for it.
            guard !Task.isCancelled else { throw CancellationError() }
            throw TrellisError(.cancelled(.explicitly), method: try? request().method, url: try? request().url)
        } catch {
            hasEnded.store(true, ordering: .relaxed)
            throw error
        }
    }
}

extension ExchangeActor {
    /// The whole answer, with the request it answers.
    nonisolated func answer() async throws -> Answer {
        let (body, response) = try await collected()
        return Answer(request: prepared.transportRequest.request, response: response, body: body)
    }
}
