import CurlEngine
import FoundationEssentials

/// What a line can be handed out as.
protocol LineContent {
    init(line bytes: Span<UInt8>)
}

extension String: LineContent {
    /// What is no UTF-8 becomes U+FFFD.
    init(line bytes: Span<UInt8>) { self.init(utf8: bytes) }
}

extension [UInt8]: LineContent {
    init(line bytes: Span<UInt8>) { self.init(copying: bytes) }
}

/// Makes lines of a body.
struct LineMachine<Line: LineContent>: BodyMachine {
    private var splitter: LineSplitter

    init(endingAt ends: LineEnds, limit: Int) { splitter = LineSplitter(endingAt: ends, limit: limit) }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func next() throws -> Line? { try splitter.next { Line(line: $0) } }

    mutating func finish() throws -> Line? { try splitter.finish().map { Line(line: $0.span) } }
}
