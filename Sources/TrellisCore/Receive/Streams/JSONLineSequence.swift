import CurlEngine
import FoundationEssentials

/// A body of newline-delimited JSON (NDJSON, JSON Lines), each line decoded. Blank lines are left out.
///
/// Lines end with LF, and CRLF as well, because white space around a value is not part of the value. Values are decoded on
/// demand, in the reader's task.
public struct JSONLineSequence<Value>: AsyncSequence, Sendable {
    /// The value of a line.
    public typealias Element = Value

    private let body: ResponseBody
    private let limit: Int
    private let decoder: ElementDecoder<Value>

    init(_ body: ResponseBody, limit: Int, _ decoder: ElementDecoder<Value>) {
        self.body = body
        self.limit = limit
        self.decoder = decoder
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(JSONLineFramer(limit: limit), body), decoder)
    }

    /// The iterator over the values. A line that cannot be decoded is a ``TrellisError`` whose ``TrellisError/underlying`` is an
    /// ``UndecodableElement`` with the number of the line, or the error that the handler for such lines threw; a line above the
    /// limit is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: BufferedIterator {
        /// The value of a line.
        public typealias Element = Value

        private var reader: BodyReader<JSONLineFramer>
        private let decoder: ElementDecoder<Value>

        fileprivate init(_ reader: BodyReader<JSONLineFramer>, _ decoder: ElementDecoder<Value>) {
            self.reader = reader
            self.decoder = decoder
        }

        @usableFromInline
        mutating func take() throws -> Value? { try reader.take(decoder) }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}

/// A parser that finds the lines that are not blank, independent of how the body is cut into chunks.
struct JSONLineFramer: IncrementalParser {
    private var splitter: LineSplitter
    /// The number of lines so far, including blank ones.
    private var number = 0

    init(limit: Int) { splitter = LineSplitter(endingAt: .lineFeed, limit: limit) }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func next() throws -> RawElement? {
        while let line = try splitter.next({ $0.isBlankJSON ? nil : Data(copying: $0) }) {
            number += 1
            if let line { return RawElement(unit: .line, number: number, bytes: line) }
        }
        return nil
    }

    mutating func finish() throws -> RawElement? {
        guard let line = try splitter.finish(), !line.span.isBlankJSON else { return nil }
        number += 1
        return RawElement(unit: .line, number: number, bytes: Data(line))
    }
}
