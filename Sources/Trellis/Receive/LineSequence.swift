/// A body line by line, as UTF-8. Lines end with LF, CRLF or CR, which are not part of them; what follows the last line end
/// is a line if it is not empty. Bytes that are no UTF-8 become U+FFFD.
public struct LineSequence: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = String

    /// The limit on the length of a line: 1 MiB.
    public static let maximumLineLength = 1 << 20

    private let body: ResponseBody

    init(_ body: ResponseBody) { self.body = body }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(body.makeAsyncIterator()) }

    /// The reader of the lines.
    public struct Iterator: AsyncIteratorProtocol {
        private var splitter = LineSplitter(limit: maximumLineLength)
        private var chunks: ResponseBody.Iterator

        init(_ chunks: ResponseBody.Iterator) { self.chunks = chunks }

        /// The next line, `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` for a line that is longer than
        ///   ``LineSequence/maximumLineLength``, and as ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> String? {
            while true {
                if let line = try splitter.next() { return line }
                guard let chunk = try await chunks.next() else { return splitter.finish() }
                splitter.append([UInt8](chunk))
            }
        }
    }
}
