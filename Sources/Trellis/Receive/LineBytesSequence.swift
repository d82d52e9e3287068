/// A body line by line, as the bytes that came: for lines that are no text, or that a parser wants as bytes. The ends of the
/// lines are not part of them; what follows the last end is a line if it is not empty.
///
/// An error, a line that is too long among them, ends the transfer, and so does leaving the loop.
public struct LineBytesSequence: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = [UInt8]

    private let body: ResponseBody
    private let ends: LineEnds
    private let limit: Int

    init(_ body: ResponseBody, endingAt ends: LineEnds, limit: Int) {
        self.body = body
        self.ends = ends
        self.limit = limit
    }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(LineMachine(endingAt: ends, limit: limit), body))
    }

    /// The reader of the lines. A line above the limit is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: StagedIterator {
        /// A line without its end.
        public typealias Element = [UInt8]

        private var reader: BodyReader<LineMachine<[UInt8]>>

        fileprivate init(_ reader: BodyReader<LineMachine<[UInt8]>>) { self.reader = reader }

        @usableFromInline
        mutating func take() throws -> [UInt8]? { try reader.take() }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}
