public import FoundationEssentials

/// The body of a response as it comes: an asynchronous sequence of chunks.
///
/// The reader sets the pace. While it is busy, what comes is joined to one chunk; above 1 MiB the transfer is paused until
/// the reader comes back. A body is read once, by one reader at a time; leaving the loop ends the transfer.
public struct ResponseBody: AsyncSequence, Sendable {
    /// Bytes of the decoded body, as many as have come.
    public typealias Element = Data

    private let token: ReaderToken

    init(_ token: ReaderToken) { self.token = token }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: ReaderToken(token.source), response: token) }

    /// The reader of a body.
    public struct Iterator: AsyncIteratorProtocol {
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
    }

    /// The body byte by byte.
    public var bytes: ByteSequence { ByteSequence(self) }

    /// The body line by line, as UTF-8.
    public var lines: LineSequence { LineSequence(self) }

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
