import CurlEngine
import FoundationEssentials

/// A body line by line, as UTF-8. The ends of the lines are not part of them; what follows the last end is a line if it is
/// not empty. Bytes that are no UTF-8 become U+FFFD.
///
/// Lines that have come are handed out without suspending. An error, a line that is too long among them, ends the transfer,
/// and so does leaving the loop.
public struct LineSequence: AsyncSequence, Sendable {
    /// A line without its end.
    public typealias Element = String

    /// The limit on the length of a line in bytes unless another one is given: 1 MiB.
    public static let maximumLineLength = 1 << 20

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
        @usableFromInline var lines: [String] = []
        @usableFromInline var position = 0
        private var reader: BodyReader<Machine>

        fileprivate init(_ reader: BodyReader<Machine>) { self.reader = reader }

        /// The next line, `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` for a line above the limit, and as
        ///   ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> String? { try await next(isolation: #isolation) }

        /// As ``next()``, without leaving the caller's isolation.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            if position == lines.count {
                guard try await refill(isolation: actor) else { return nil }
            }
            // Moved, not copied.
            var line = ""
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
        /// So many lines are made at once, which is cheaper. With more the allocator's per-thread cache, which has room for
        /// seven, is of no use.
        private static let batchSize = 6

        var splitter: LineSplitter

        mutating func append(_ chunk: Data) { splitter.append(chunk) }

        mutating func fill(_ lines: inout [String]) throws {
            while lines.count < Self.batchSize, let line = try splitter.next({ String(utf8: $0) }) {
                lines.append(line)
            }
        }

        mutating func finish(_ lines: inout [String]) throws {
            if let last = try splitter.finish() { lines.append(String(decoding: last, as: UTF8.self)) }
        }
    }
}
