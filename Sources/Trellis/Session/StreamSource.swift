import CurlEngine
import FoundationEssentials

/// The body of a streamed response, for its readers. Keeps the session alive as long as it is read.
final class StreamSource: ChunkSource {
    private let inbox: BodyInbox
    private let request: RequestActor
    private let session: Session

    init(inbox: BodyInbox, request: RequestActor, session: Session) {
        self.inbox = inbox
        self.request = request
        self.session = session
    }

    func next() async throws -> Data? { try await inbox.next() }

    func finalResponse() async throws -> Response { try await inbox.finalResponse() }

    func cancel(explicitly: Bool) {
        guard !inbox.hasEnded else { return }
        let error: any Error = explicitly ? TrellisError(.cancelled(.explicitly)) : CancellationError()
        request.enter { $0.cancel(error) }
    }
}
