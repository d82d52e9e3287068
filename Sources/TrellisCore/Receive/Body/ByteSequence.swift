/// A body as a sequence of bytes. Bytes that have been received are returned without suspending.
public struct ByteSequence: AsyncSequence, Sendable {
    /// A byte of the decoded body.
    public typealias Element = UInt8

    private let body: ResponseBody

    init(_ body: ResponseBody) { self.body = body }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(body.makeAsyncIterator()) }

    /// The iterator over the bytes.
    public struct Iterator: BufferedIterator {
        /// A byte of the decoded body.
        public typealias Element = UInt8

        @usableFromInline var chunk: [UInt8] = []
        @usableFromInline var position = 0
        private var chunks: ResponseBody.Iterator

        init(_ chunks: ResponseBody.Iterator) { self.chunks = chunks }

        @inlinable
        mutating func take() -> UInt8? {
            guard position < chunk.count else { return nil }
            defer { position += 1 }
            return chunk[position]
        }

        @usableFromInline
        mutating func feed() async throws -> Bool {
            guard let next = try await chunks.next() else { return false }
            chunk = [UInt8](next)
            position = 0
            return true
        }
    }

    /// The bytes as lines of UTF-8.
    public var lines: LineSequence { body.lines }
}
