import CurlEngine
import FoundationEssentials

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
