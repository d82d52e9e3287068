/// A body line by line, as UTF-8. The ends of the lines are not part of them; what follows the last end is a line if it is
/// not empty. Bytes that are no UTF-8 become U+FFFD.
///
/// Lines that have come are handed out without suspending. An error, a line that is too long among them, ends the transfer,
/// and so does leaving the loop.
public struct LineSequence: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = String

    /// The limit on the length of a line in bytes unless another one is given: 16 MiB.
    public static let maximumLineLength = 16 << 20

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
        public typealias Element = String

        private var reader: BodyReader<LineMachine<String>>

        fileprivate init(_ reader: BodyReader<LineMachine<String>>) { self.reader = reader }

        @usableFromInline
        mutating func take() throws -> String? { try reader.take() }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}
