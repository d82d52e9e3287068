import CurlEngine
import FoundationEssentials

/// The body of a streamed response, for its reader. It keeps the session alive as long as the body is read.
package final class StreamSource: ChunkSource {
    private let inbox: BodyInbox
    let exchange: ExchangeActor
    private let session: Session

    init(inbox: BodyInbox, exchange: ExchangeActor, session: Session) {
        self.inbox = inbox
        self.exchange = exchange
        self.session = session
    }

    /// The connection on which the server has switched protocols; `nil` if it has not.
    var connection: (any DuplexConnection)? { inbox.connection }

    /// The observer of the call; `nil` if there is none.
    package var observer: (any ReadingObserver)? { exchange.prepared.history?.observer }

    /// The metrics of the exchange so far.
    package var metrics: Metrics? {
        get async {
            // The engine is not asked for what the final response has. Observers get the end of the exchange from it before what follows.
            if observer == nil, let metrics = inbox.finalMetrics { return metrics }
            return await exchange.finalMetrics
        }
    }

    /// The time since the call began: the exchange of a stream is made with the start of its call.
    package var elapsedTime: Int64? { session.clock.now().nanoseconds(since: exchange.prepared.start) }

    /// Returns the next chunk; `nil` at the end.
    package func next() async throws -> Data? { try await inbox.next() }

    /// Returns the response with its trailers and final metrics, once the rest of the body has been read.
    package func finalResponse() async throws -> Response { try await inbox.finalResponse() }

    /// Ends the exchange, unless it has ended.
    package func cancel(explicitly: Bool) {
        guard !inbox.hasEnded else { return }
        let error: any Error = explicitly ? TrellisError(.cancelled(.explicitly)) : CancellationError()
        exchange.submit { $0.cancel(error) }
    }

    /// Measures the rest of the body in bytes on the wire.
    package func measure(with meter: ProgressBroadcaster) async { await exchange.measureDownload(with: meter) }

    /// Stops the traffic of the exchange, or resumes it.
    package func hold(_ isHeld: Bool) {
        exchange.submit { if isHeld { $0.suspend() } else { $0.resume() } }
    }
}

/// The body of a response whose first chunk has been received.
final class BegunBodySource: WrappingSource {
    private let first: Locked<Data?>
    let token: TransferToken

    init(_ first: Data, _ token: TransferToken) {
        self.first = Locked(first)
        self.token = token
    }

    func next() async throws -> Data? {
        let chunk = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let chunk { return chunk }
        return try await token.source.next()
    }

    func finalResponse() async throws -> Response { try await token.source.finalResponse() }

    /// Ends the transfer. The first chunk stays, as the bytes do that the transfer has stored: without it, a body that has ended would lack
    /// its beginning.
    func cancel(explicitly: Bool) { token.source.cancel(explicitly: explicitly) }
}
