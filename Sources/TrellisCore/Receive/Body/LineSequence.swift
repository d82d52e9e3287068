/// The lines of a body as UTF-8. The ends of the lines are not part of them; the bytes after the last end are a line if there are
/// any. Bytes that are not UTF-8 become U+FFFD. A byte order mark at the beginning of the body is not part of the first line.
///
/// Lines that have been received are returned without suspending. An error, including the error for a line that is too long, ends
/// the transfer, and so does leaving the loop.
public struct LineSequence: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = String

    /// The default limit on the length of a line in bytes: 16 MiB.
    public static let maximumLineLength = 16 << 20

    private let body: ResponseBody
    private let ends: LineEnding
    private let limit: Int

    init(_ body: ResponseBody, endingAt ends: LineEnding, limit: Int) {
        self.body = body
        self.ends = ends
        self.limit = limit
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(LineParser(endingAt: ends, limit: limit), body))
    }

    /// The iterator over the lines. A line above the limit is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: BufferedIterator {
        /// A line without its end.
        public typealias Element = String

        private var reader: BodyReader<LineParser<String>>

        fileprivate init(_ reader: BodyReader<LineParser<String>>) { self.reader = reader }

        @usableFromInline
        mutating func take() throws -> String? { try reader.take() }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}

/// The lines of a body as bytes, for lines that are not text, or for a parser of bytes. The ends of the lines are not part of them;
/// the bytes after the last end are a line if there are any.
///
/// An error, including the error for a line that is too long, ends the transfer, and so does leaving the loop.
public struct LineBytesSequence: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = [UInt8]

    private let body: ResponseBody
    private let ends: LineEnding
    private let limit: Int

    init(_ body: ResponseBody, endingAt ends: LineEnding, limit: Int) {
        self.body = body
        self.ends = ends
        self.limit = limit
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(LineParser(endingAt: ends, limit: limit), body))
    }

    /// The iterator over the lines. A line above the limit is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: BufferedIterator {
        /// A line without its end.
        public typealias Element = [UInt8]

        private var reader: BodyReader<LineParser<[UInt8]>>

        fileprivate init(_ reader: BodyReader<LineParser<[UInt8]>>) { self.reader = reader }

        @usableFromInline
        mutating func take() throws -> [UInt8]? { try reader.take() }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}
