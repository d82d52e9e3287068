import CurlEngine
import FoundationEssentials
import Synchronization

/// What the handles on one request share. Ends the request when the last of them goes, and keeps its session until then.
final class RequestOwner: Sendable {
    let request: Result<RequestActor, any Error>
    private let session: Session
    /// An answer or an error has come, so that there is nothing left to end, and no need to wake the engine for it.
    private let hasEnded = Atomic(false)

    init(_ request: Result<RequestActor, any Error>, session: Session) {
        self.request = request
        self.session = session
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        enter { $0.cancel(CancellationError()) }
    }

    func enter(_ body: @escaping @Sendable (isolated RequestActor) -> Void) {
        if case .success(let request) = request { request.enter(body) }
    }

    /// Sends the request, unless it was sent, and waits for the whole answer.
    func answer() async throws -> Answer {
        // However this ends, the request has ended.
        defer { hasEnded.store(true, ordering: .relaxed) }
        return try await request.get().answer()
    }
}

extension RequestActor {
    /// The whole answer, with the request it answers.
    nonisolated func answer() async throws -> Answer {
        let (body, response) = try await collected()
        return Answer(request: prepared.transportRequest.request, response: response, body: body)
    }
}
