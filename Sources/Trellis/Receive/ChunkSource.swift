import CurlEngine
package import FoundationEssentials

/// A source of the chunks of a body.
package protocol ChunkSource: AnyObject, Sendable {
    /// The request of the response, as it was sent; `nil` if unknown.
    var request: Request? { get }
    /// The observer of the validations and serializations of the body; `nil` if there is none.
    var observer: (any ReadingObserver)? { get }
    /// Returns the next chunk; `nil` at the end.
    func next() async throws -> Data?
    /// Returns the response with its trailers and final metrics, once the rest of the body has been read.
    func finalResponse() async throws -> Response
    /// The metrics of the transfer so far; `nil` if unknown.
    var metrics: Metrics? { get async }
    /// Ends the transfer, unless it has ended.
    func cancel(explicitly: Bool)
    /// Stops the traffic of the transfer, or resumes it. The last of several calls takes effect, also if they are made on different
    /// threads.
    func hold(_ isHeld: Bool)
    /// The source that receives the bytes: this one, unless this one changes the bytes of another.
    var transfer: any ChunkSource { get }
}

extension ChunkSource {
    /// The default, `nil`, because the request is unknown.
    package var request: Request? { nil }
    /// The source itself.
    package var transfer: any ChunkSource { self }
    /// `nil`, unless a source has an observer.
    package var observer: (any ReadingObserver)? { nil }
    /// `nil`, unless a source measures its transfer.
    package var metrics: Metrics? { get async { nil } }

    /// Does nothing: a reader that does not read has the same effect a little later.
    package func hold(_ isHeld: Bool) {}
}

/// A token that ends the transfer of its source when the token is released, by a reader that stopped or with a response that was
/// dropped.
final class TransferToken: Sendable {
    let source: any ChunkSource

    init(_ source: any ChunkSource) { self.source = source }

    deinit { source.cancel(explicitly: false) }
}

/// The reader of a body as a stream of the standard library. A reader that is released ends the transfer if it has asked for a
/// chunk.
final class StreamReader: Sendable {
    /// The token of the response, so that dropping the response alone does not end the transfer.
    private let response: TransferToken
    /// The token of the reader; `nil` if no chunk has been asked for.
    private let token = Locked<TransferToken?>(nil)

    init(_ response: TransferToken) { self.response = response }

    /// Returns the next chunk; `nil` at the end.
    func next() async throws -> Data? {
        token.withLock { token in
            if token == nil { token = TransferToken(response.source) }
        }
        return try await response.source.next()
    }
}

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
