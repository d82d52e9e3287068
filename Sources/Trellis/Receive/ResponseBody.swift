public import FoundationEssentials

/// The body of a response as it comes: an asynchronous sequence of chunks.
///
/// The reader sets the pace. While it is busy, what comes is joined to chunks of up to 256 KiB; when 1 MiB waits, the transfer is
/// paused until the reader has taken half of it. A body is read once, by one reader at a time; leaving the loop ends the transfer.
///
/// A large chunk is in memory that is used again when the last copy of it is gone: whoever keeps small pieces of large chunks for
/// long had better copy them (`Data(Array(piece))`).
public struct ResponseBody: AsyncSequence, Sendable {
    /// Bytes of the decoded body, as many as have come.
    public typealias Element = Data

    private let token: ReaderToken

    init(_ token: ReaderToken) { self.token = token }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: ReaderToken(token.source), response: token) }

    /// The reader of a body.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let reader: ReaderToken
        private let response: ReaderToken

        init(reader: ReaderToken, response: ReaderToken) {
            self.reader = reader
            self.response = response
        }

        /// The next chunk, `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` if the body does not come to its end; `CancellationError` in a cancelled task.
        public mutating func next() async throws -> Data? { try await reader.source.next() }

        /// As ``next()``. It runs where it is called, whatever the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Data? {
            try await next()
        }
    }

    /// The body byte by byte.
    public var bytes: ByteSequence { ByteSequence(self) }

    /// The body line by line, as UTF-8, with the limit and the line ends that ``lines(endingAt:maximumLength:)`` has unless
    /// they are given.
    public var lines: LineSequence { lines() }

    /// The body line by line, as UTF-8.
    ///
    /// - Parameters:
    ///   - ends: What ends a line: LF, CRLF and CR unless given.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given. A longer line is an error of kind
    ///     ``TrellisError/Kind/bodyTooLarge``, and so much of a line is held in memory at most.
    public func lines(
        endingAt ends: LineEnds = .standard, maximumLength: Int = LineSequence.maximumLineLength
    ) -> LineSequence { LineSequence(self, endingAt: ends, limit: maximumLength) }

    /// The body line by line, as the bytes that came.
    ///
    /// - Parameters:
    ///   - ends: What ends a line: LF, CRLF and CR unless given.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given.
    public func lineBytes(
        endingAt ends: LineEnds = .standard, maximumLength: Int = LineSequence.maximumLineLength
    ) -> LineBytesSequence { LineBytesSequence(self, endingAt: ends, limit: maximumLength) }

    /// The rest of the body in one piece.
    ///
    /// - Parameter limit: How many bytes are accepted.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` above the limit, and what reading throws.
    public func collect(upTo limit: Int) async throws -> Data {
        var all = Data()
        for try await chunk in self {
            guard all.count + chunk.count <= limit else {
                throw TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
            }
            all.append(chunk)
        }
        return all
    }
}
