import CurlEngine
import FoundationEssentials

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
        Iterator(BodyReader(Machine(splitter: LineSplitter(endingAt: ends, limit: limit)), body))
    }

    /// The reader of the lines.
    public struct Iterator: AsyncIteratorProtocol {
        /// Lines that have come; those before `position` have been handed out.
        @usableFromInline var lines: [[UInt8]] = []
        @usableFromInline var position = 0
        private var reader: BodyReader<Machine>

        fileprivate init(_ reader: BodyReader<Machine>) { self.reader = reader }

        /// The next line, `nil` at the end.
        ///
        /// - Throws: As ``LineSequence/Iterator/next()``.
        public mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        /// As ``next()``, without leaving the caller's isolation.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if position == lines.count {
                guard try await refill(isolation: actor) else { return nil }
            }
            // Moved, not copied.
            var line = [UInt8]()
            swap(&line, &lines[position])
            position += 1
            return line
        }

        @usableFromInline
        mutating func refill(isolation actor: isolated (any Actor)?) async throws -> Bool {
            position = 0
            try await reader.next(reusing: &lines)
            return !lines.isEmpty
        }
    }

    fileprivate struct Machine: BodyMachine {
        /// As many as of text.
        private static let batchSize = 6

        var splitter: LineSplitter

        mutating func append(_ chunk: Data) { splitter.append(chunk) }

        mutating func fill(_ lines: inout [[UInt8]]) throws {
            while lines.count < Self.batchSize, let line = try splitter.next({ [UInt8](copying: $0) }) {
                lines.append(line)
            }
        }

        mutating func finish(_ lines: inout [[UInt8]]) throws {
            if let last = try splitter.finish() { lines.append(last) }
        }
    }
}
