public import FoundationEssentials

/// The body of a response as an asynchronous sequence of chunks, as they are received.
///
/// The reader sets the pace. While the reader is busy, received bytes are joined to chunks of up to 256 KiB; when 1 MiB waits, the
/// transfer is paused until the reader has taken half of it. A body is read once: leaving the loop ends the transfer, and a further
/// reader gets an error of kind ``TrellisError/Kind/other``.
///
/// The memory of a large chunk is reused when the last copy of the chunk is released: copy small pieces of large chunks that are kept
/// for long (`Data(Array(piece))`).
public struct ResponseBody: AsyncSequence, Sendable {
    /// A chunk: bytes of the decoded body, as many as have been received.
    public typealias Element = Data

    private let token: TransferToken
    private let response: Response

    init(_ token: TransferToken, of response: Response) {
        self.token = token
        self.response = response
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(ChunkReader(token, response)) }

    /// Returns an error about the body, completed with its request, its response and the metrics of its call.
    func completed(_ error: TrellisError) -> any Error { token.source.completed(error, reading: response) }

    /// The iterator over the chunks of a body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        // A single reference, because the readers of elements are passed on with their iterators.
        private let reader: ChunkReader

        init(_ reader: ChunkReader) { self.reader = reader }

        /// Returns an error about the body, completed with its request, its response and the metrics of its call.
        func completed(_ error: any Error) -> any Error { reader.completed(error) }

        /// Returns the next chunk; `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` if the body does not reach its end, and of kind ``TrellisError/Kind/other`` if the body was already
        ///   read; `CancellationError` in a cancelled task.
        public mutating func next() async throws -> Data? { try await reader.next() }

        /// Returns the next chunk, as ``next()`` does. Runs on the actor of the caller, regardless of the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Data? {
            try await next()
        }
    }

    /// The body in chunks: this sequence, with the name that it has in ``StreamResponse``.
    public var chunks: ResponseBody { self }

    /// The body as a sequence of bytes.
    public var bytes: ByteSequence { ByteSequence(self) }

    /// The lines of the body as UTF-8, with the default limit and line ends of ``lines(endingAt:maximumLength:)``.
    public var lines: LineSequence { lines() }

    /// Returns the lines of the body as UTF-8.
    ///
    /// - Parameters:
    ///   - ends: The line ends: LF, CRLF and CR unless given.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given. A longer line is an error of kind
    ///     ``TrellisError/Kind/bodyTooLarge``. The limit is also the most of a line that is held in memory.
    public func lines(
        endingAt ends: LineEnding = .standard, maximumLength: Int = LineSequence.maximumLineLength
    ) -> LineSequence { LineSequence(self, endingAt: ends, limit: maximumLength) }

    /// Returns the lines of the body as the bytes that were received.
    ///
    /// - Parameters:
    ///   - ends: The line ends: LF, CRLF and CR unless given.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given.
    public func lineBytes(
        endingAt ends: LineEnding = .standard, maximumLength: Int = LineSequence.maximumLineLength
    ) -> LineBytesSequence { LineBytesSequence(self, endingAt: ends, limit: maximumLength) }

    /// Returns the rest of the body in one piece.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` above the limit, and the errors of reading.
    public func collect(upTo limit: Int) async throws -> Data {
        var all = Data()
        for try await chunk in self {
            guard all.count + chunk.count <= limit else {
                throw completed(TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving))
            }
            all.append(chunk)
        }
        return all
    }
}
