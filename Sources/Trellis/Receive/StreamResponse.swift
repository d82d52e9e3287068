public import FoundationEssentials

/// A response whose body comes as it is read.
///
/// Read the body once, in one of its forms. Leaving the loop over it ends the transfer, and so does dropping the response
/// before its body is read.
public struct StreamResponse: Sendable {
    /// The response up to its head: its metrics end there, and it has no trailers.
    public let head: Response
    private let token: ReaderToken
    /// Where the body comes from.
    var source: any ChunkSource { token.source }

    package init(head: Response, source: any ChunkSource) { self.init(head: head, token: ReaderToken(source)) }

    init(head: Response, token: ReaderToken) {
        self.head = head
        self.token = token
    }

    /// The body in chunks.
    ///
    /// As every `AsyncThrowingStream`, it ends without an error when the task that reads it is cancelled; use ``chunks``,
    /// ``bytes`` or ``lines-swift.property``, which throw `CancellationError`, where the difference between the end of the body and that of
    /// the task matters, or call `Task.checkCancellation()` after the loop.
    public var body: AsyncThrowingStream<Data, any Error> {
        let reader = ReaderToken(token.source)
        let response = token
        return AsyncThrowingStream {
            // The stream keeps the response, so that dropping that alone ends nothing.
            _ = response
            return try await reader.source.next()
        }
    }

    /// The body in chunks.
    public var chunks: ResponseBody { ResponseBody(token) }

    /// The body byte by byte.
    public var bytes: ByteSequence { chunks.bytes }

    /// The body line by line.
    public var lines: LineSequence { chunks.lines }

    /// The response with its trailers and with metrics up to the end. What has not been read of the body is read and dropped.
    ///
    /// - Throws: ``TrellisError`` if the body does not come to its end; `CancellationError` in a cancelled task.
    public func finalResponse() async throws -> Response { try await token.source.finalResponse() }

    /// Ends the transfer; its reader gets an error of kind ``TrellisError/Kind/cancelled``.
    public func cancel() { token.source.cancel(explicitly: true) }
}
