import CurlEngine
import FoundationEssentials

/// A splitter of bytes into lines, independent of how the bytes are cut into chunks. Performs no I/O: chunks in, lines out.
struct LineSplitter {
    /// The present chunk, as a copy, which costs less than access to the bytes of a `Data` at every line.
    private(set) var chunk: [UInt8] = []
    private var scan: LineScan

    init(endingAt ends: LineEnds = .standard, limit: Int) { scan = LineScan(endingAt: ends, limit: limit) }

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
