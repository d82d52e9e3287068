import CurlEngine
import FoundationEssentials

/// A splitter of bytes into lines, independent of how the bytes are cut into chunks. Performs no I/O: chunks in, lines out.
struct LineSplitter {
    /// The present chunk, as a copy, which costs less than access to the bytes of a `Data` at every line.
    private(set) var chunk: [UInt8] = []
    private var scan: LineScan

    init(endingAt ends: LineEnding = .standard, limit: Int) { scan = LineScan(endingAt: ends, limit: limit) }

    /// Adds the next bytes. Call this when a call for the next line has returned `nil`.
    mutating func append(_ bytes: Data) {
        chunk.removeAll(keepingCapacity: true)
        scan.begin(&chunk)
        chunk.append(copying: bytes.span)
    }

    /// Passes the next complete line to `make`, and returns the result; `nil` if more bytes are needed.
    ///
    /// - Throws: ``TrellisError`` for a line that is longer than the limit. Do not use the splitter after an error.
    @inline(__always)
    mutating func next<Result>(_ make: (Span<UInt8>) -> Result) throws(TrellisError) -> Result? {
        switch try nextPlace() {
        case .inChunk(let range): make(chunk.span.extracting(range))
        case .joined: make(joined.span)
        case nil: nil
        }
    }

    /// Returns the place of the next line, as in ``next(_:)``, for callers that read ``chunk`` and ``joined`` themselves.
    @inline(__always)
    mutating func nextPlace() throws(TrellisError) -> LineScan.Line? { try scan.next(in: chunk) }

    /// The line that began in an earlier chunk, after ``nextPlace()`` has returned ``LineScan/Line/joined``.
    var joined: [UInt8] { scan.pending }

    /// Returns the last line of the body, if the body does not end with the end of a line.
    mutating func finish() throws(TrellisError) -> [UInt8]? { try scan.finish() }
}

/// The character sequences that end a line of text. The end is not part of the line.
public enum LineEnding: Sendable, Hashable, CaseIterable {
    /// LF, CRLF and CR, as text files, logs and most protocols use them. The default.
    case standard
    /// LF and CRLF. A CR elsewhere is part of its line, as NDJSON requires.
    case lineFeed
    /// LF, CRLF, CR, and Unicode's NEL (U+0085), LINE SEPARATOR (U+2028) and PARAGRAPH SEPARATOR (U+2029), as encoded in UTF-8.
    /// Section 5.8 of the Unicode Standard calls them the new line functions.
    case unicode
}

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
struct LineParser<Line: LineContent>: IncrementalParser {
    private var splitter: LineSplitter

    init(endingAt ends: LineEnding, limit: Int) { splitter = LineSplitter(endingAt: ends, limit: limit) }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func next() throws -> Line? { try splitter.next { Line(line: $0) } }

    mutating func finish() throws -> Line? { try splitter.finish().map { Line(line: $0.span) } }
}
