import CurlEngine
import FoundationEssentials

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
