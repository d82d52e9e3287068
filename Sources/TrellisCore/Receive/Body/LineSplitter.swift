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

    /// Whether lines are text: then a byte order mark at the beginning of the body is no part of the first one.
    static var isText: Bool { get }
}

extension String: LineContent {
    /// Creates a line of text. Bytes that are not UTF-8 become U+FFFD.
    init(line bytes: Span<UInt8>) { self.init(utf8: bytes) }

    static var isText: Bool { true }
}

extension [UInt8]: LineContent {
    init(line bytes: Span<UInt8>) { self.init(copying: bytes) }

    static var isText: Bool { false }
}

/// A parser that splits a body into lines.
struct LineParser<Line: LineContent>: IncrementalParser {
    private var splitter: LineSplitter
    /// Whether the next line may begin with a byte order mark.
    private var mayBeMarked = Line.isText

    init(endingAt ends: LineEnding, limit: Int) { splitter = LineSplitter(endingAt: ends, limit: limit) }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func next() throws -> Line? {
        guard mayBeMarked else { return try splitter.next { Line(line: $0) } }
        let first = try splitter.next { line in Line(line: line.extracting(Self.endOfMark(line)..<line.count)) }
        if first != nil { mayBeMarked = false }
        return first
    }

    mutating func finish() throws -> Line? {
        guard let last = try splitter.finish() else { return nil }
        guard mayBeMarked else { return Line(line: last.span) }
        let start = Self.endOfMark(last.span)
        // A mark alone is no line.
        return start == last.count ? nil : Line(line: last.span.extracting(start..<last.count))
    }

    /// Returns the index after the byte order mark of a line (U+FEFF); 0 if it has none.
    private static func endOfMark(_ line: Span<UInt8>) -> Int {
        line.count >= 3 && line[0] == 0xEF && line[1] == 0xBB && line[2] == 0xBF ? 3 : 0
    }
}
