import CurlEngine
import FoundationEssentials

/// A parser of an event stream, as section 9.2.6 of WHATWG HTML defines it, independent of how the stream is cut into chunks.
/// Performs no I/O.
///
/// An event that is not complete at the end of the stream is dropped.
struct ServerSentEventParser: IncrementalParser {
    private var splitter: LineSplitter
    private var block: EventBuilder
    /// Whether the next line is the first line of the stream.
    private var isAtStart = true

    /// Creates a parser for one stream.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of a line, and of the data of an event, in bytes.
    ///   - lastEventID: The last event ID of the stream that this one continues. Browsers keep that ID for events without one.
    init(limit: Int, lastEventID: String = "") {
        splitter = LineSplitter(limit: limit)
        block = EventBuilder(limit: limit, lastEventID: lastEventID)
    }

    /// The value to send as `Last-Event-ID` when the stream is opened again: the ID at the last blank line.
    var lastEventID: String { block.lastEventID }

    /// The last reconnection time that the server gave.
    var reconnectionTime: Duration? { block.reconnectionTime }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func next() throws -> ServerSentEvent? {
        while let place = try splitter.nextPlace() {
            let event =
                switch place {
                case .inChunk(let range): try take(splitter.chunk, range)
                case .joined: try take(splitter.joined, 0..<splitter.joined.count)
                }
            if let event { return event }
        }
        return nil
    }

    mutating func finish() -> ServerSentEvent? { nil }

    private mutating func take(_ bytes: [UInt8], _ range: Range<Int>) throws(TrellisError) -> ServerSentEvent? {
        var range = range
        if isAtStart {
            // A single byte order mark at the start is not part of the stream.
            if bytes[range].starts(with: [0xEF, 0xBB, 0xBF]) { range = range.lowerBound + 3..<range.upperBound }
            isAtStart = false
        }
        return try block.take(bytes.span.extracting(range))
    }
}
