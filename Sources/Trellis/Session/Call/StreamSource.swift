import CurlEngine
import FoundationEssentials

/// The body of a streamed response, for its readers. Keeps the session alive as long as it is read.
final class StreamSource: ChunkSource {
    private let inbox: BodyInbox
    private let actor: ExchangeActor
    private let session: Session

    init(inbox: BodyInbox, request: ExchangeActor, session: Session) {
        self.inbox = inbox
        actor = request
        self.session = session
    }

    var request: Request? { actor.prepared.transportRequest.request }

    var observer: (any ReadingObserver)? { actor.prepared.history?.observer }

    var spent: Metrics? { get async { await actor.finalMetrics } }

    func next() async throws -> Data? { try await inbox.next() }

    func finalResponse() async throws -> Response { try await inbox.finalResponse() }

    func cancel(explicitly: Bool) {
        guard !inbox.hasEnded else { return }
        let error: any Error = explicitly ? TrellisError(.cancelled(.explicitly)) : CancellationError()
        actor.enter { $0.cancel(error) }
    }

    /// Tells a meter of the body from now on, as it comes over the wire.
    func measure(with meter: ProgressBroadcaster) { actor.enter { $0.measureDownload(with: meter) } }

    func hold(_ isHeld: Bool) {
        // In the order of the calls, also of those on the engine thread.
        actor.executor.submit { [actor] in
            if isHeld { actor.onEngineThread.suspend() } else { actor.onEngineThread.resume() }
        }
    }
}
