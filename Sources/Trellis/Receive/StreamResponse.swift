public import FoundationEssentials

/// A response whose body is received as it is read.
///
/// Read the body once, in one of its forms. Leaving the loop over it ends the transfer, and so does dropping the response
/// before its body is read.
public struct StreamResponse: Sendable {
    /// The response up to its head, with metrics up to the head and without trailers.
    public let response: Response
    private let token: TransferToken
    /// The source of the body.
    var source: any ChunkSource { token.source }

    package init(_ response: Response, source: any ChunkSource) { self.init(response, token: TransferToken(source)) }

    init(_ response: Response, token: TransferToken) {
        self.response = response
        self.token = token
    }

    /// The body in chunks.
    ///
    /// Like every `AsyncThrowingStream`, the body ends without an error when the task that reads it is cancelled. Where the difference
    /// between the end of the body and the cancellation of the task matters, use ``chunks``, ``bytes`` or ``lines-swift.property``, which
    /// throw `CancellationError`, or call `Task.checkCancellation()` after the loop.
    public var body: AsyncThrowingStream<Data, any Error> {
        let reader = StreamReader(token)
        return AsyncThrowingStream { try await reader.next() }
    }

    /// The body in chunks.
    public var chunks: ResponseBody { ResponseBody(token) }

    /// The body as a sequence of bytes.
    public var bytes: ByteSequence { chunks.bytes }

    /// The lines of the body as UTF-8.
    public var lines: LineSequence { chunks.lines }

    /// Returns the response with its trailers and with metrics up to the end. The unread rest of the body is read and dropped.
    ///
    /// - Throws: ``TrellisError`` if the body does not reach its end; `CancellationError` in a cancelled task.
    public func finalResponse() async throws -> Response { try await token.source.finalResponse() }

    /// Ends the transfer; its reader gets an error of kind ``TrellisError/Kind/cancelled``.
    public func cancel() { token.source.cancel(explicitly: true) }
}
