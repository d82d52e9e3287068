import CurlEngine
import FoundationEssentials

/// The body of a response whose first chunk has been received.
final class BegunBodySource: ChunkSource {
    private let first: Locked<Data?>
    private let token: TransferToken

    init(_ first: Data, _ token: TransferToken) {
        self.first = Locked(first)
        self.token = token
    }

    var transfer: any ChunkSource { token.source.transfer }
    var request: Request? { token.source.request }
    var observer: (any ReadingObserver)? { token.source.observer }
    var elapsedTime: Int64? { token.source.elapsedTime }
    var metrics: Metrics? { get async { await token.source.metrics } }

    func next() async throws -> Data? {
        let chunk = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let chunk { return chunk }
        return try await token.source.next()
    }

    func finalResponse() async throws -> Response { try await token.source.finalResponse() }

    func cancel(explicitly: Bool) {
        first.withLock { $0 = nil }
        token.source.cancel(explicitly: explicitly)
    }

    func hold(_ isHeld: Bool) { token.source.hold(isHeld) }
}
