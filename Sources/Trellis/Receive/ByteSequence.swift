/// A body byte by byte. Bytes that have come are handed out without suspending.
public struct ByteSequence: AsyncSequence, Sendable {
    /// A byte of the decoded body.
    public typealias Element = UInt8

    private let body: ResponseBody

    init(_ body: ResponseBody) { self.body = body }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(body.makeAsyncIterator()) }

    /// The reader of the bytes.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline var chunk: [UInt8] = []
        @usableFromInline var position = 0
        private var chunks: ResponseBody.Iterator

        init(_ chunks: ResponseBody.Iterator) { self.chunks = chunks }

        /// The next byte, `nil` at the end.
        ///
        /// - Throws: As ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> UInt8? { try await next(isolation: #isolation) }

        /// As ``next()``, without leaving the caller's isolation.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
            if position == chunk.count {
                guard try await refill(isolation: actor) else { return nil }
            }
            defer { position += 1 }
            return chunk[position]
        }

        @usableFromInline
        mutating func refill(isolation actor: isolated (any Actor)?) async throws -> Bool {
            guard let next = try await chunks.next() else { return false }
            chunk = [UInt8](next)
            position = 0
            return !chunk.isEmpty
        }
    }

    /// The bytes as lines of UTF-8.
    public var lines: LineSequence { body.lines }
}
