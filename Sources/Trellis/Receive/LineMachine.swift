import CurlEngine
import FoundationEssentials

/// A type that a line can be returned as.
protocol LineContent {
    /// Creates a line from its bytes, without the end of the line.
    init(line bytes: Span<UInt8>)
}

extension String: LineContent {
    /// Creates a line of text. Bytes that are not UTF-8 become U+FFFD.
    init(line bytes: Span<UInt8>) { self.init(utf8: bytes) }
}

extension [UInt8]: LineContent {
    init(line bytes: Span<UInt8>) { self.init(copying: bytes) }
}

/// A parser that splits a body into lines.
struct LineMachine<Line: LineContent>: BodyMachine {
    private var splitter: LineSplitter

    init(endingAt ends: LineEnds, limit: Int) { splitter = LineSplitter(endingAt: ends, limit: limit) }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func next() throws -> Line? { try splitter.next { Line(line: $0) } }

    mutating func finish() throws -> Line? { try splitter.finish().map { Line(line: $0.span) } }
}
