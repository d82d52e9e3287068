import CurlEngine
import FoundationEssentials

/// Splits bytes into lines, however they are cut into chunks. A pure machine: chunks in, lines out.
struct LineSplitter {
    /// The present chunk. Copied, which costs less than asking `Data` for its bytes at every line.
    private(set) var chunk: [UInt8] = []
    private var scan: LineScan

    init(endingAt ends: LineEnds = .standard, limit: Int) { scan = LineScan(endingAt: ends, limit: limit) }

    /// Adds the next bytes. Call it when a call for the next line has returned `nil`.
    mutating func append(_ bytes: Data) {
        chunk.removeAll(keepingCapacity: true)
        scan.begin(&chunk)
        chunk.append(copying: bytes.span)
    }

    /// Hands the next line that is complete to `make`; `nil` where more bytes are needed.
    ///
    /// - Throws: ``TrellisError`` for a line that is longer than the limit. Do not go on after it.
    @inline(__always)
    mutating func next<Result>(_ make: (Span<UInt8>) -> Result) throws(TrellisError) -> Result? {
        switch try nextPlace() {
        case .inChunk(let range): make(chunk.span.extracting(range))
        case .joined: make(joined.span)
        case nil: nil
        }
    }

    /// As ``next(_:)``, for those who look at ``chunk`` and ``joined`` themselves.
    @inline(__always)
    mutating func nextPlace() throws(TrellisError) -> LineScan.Line? { try scan.next(in: chunk) }

    /// The line that began in an earlier chunk, where ``nextPlace()`` has said so.
    var joined: [UInt8] { scan.pending }

    /// The line at the end of the body, if it has no end of its own.
    mutating func finish() throws(TrellisError) -> [UInt8]? { try scan.finish() }
}
