import CurlEngine
import FoundationEssentials

/// A source for a body that is in memory, for readers of chunks.
final class DataSource: ChunkSource {
    /// The body; `nil` if the only chunk has been read or dropped.
    private let rest: Locked<Data?>
    private let response: Response

    init(_ data: Data, response: Response) {
        rest = Locked(data.isEmpty ? nil : data)
        self.response = response
    }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        return rest.withLock { rest in
            defer { rest = nil }
            return rest
        }
    }

    func finalResponse() async throws -> Response {
        rest.withLock { $0 = nil }
        return response
    }

    func cancel(explicitly: Bool) { rest.withLock { $0 = nil } }
}
