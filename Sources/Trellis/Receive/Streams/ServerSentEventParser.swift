import CurlEngine
import FoundationEssentials

/// Makes events of the bytes of an event stream, however they are cut, as section 9.2.6 of WHATWG HTML says. A pure machine.
///
/// An event that is not complete at the end of the stream is dropped.
struct ServerSentEventParser: BodyMachine {
    private var splitter: LineSplitter
    private var block: EventBlock
    private var isAtStart = true

    /// A parser for one stream.
    ///
    /// - Parameters:
    ///   - limit: How many bytes a line, and the data of an event, may have.
    ///   - lastEventID: The last event ID of the stream that this one continues. Browsers keep it for events without an ID.
    init(limit: Int, lastEventID: String = "") {
        splitter = LineSplitter(limit: limit)
        block = EventBlock(limit: limit, lastEventID: lastEventID)
    }

    /// What to send as `Last-Event-ID` when the stream is opened again: the ID at the last blank line.
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
            // One byte order mark at the start is no part of the stream.
            if bytes[range].starts(with: [0xEF, 0xBB, 0xBF]) { range = range.lowerBound + 3..<range.upperBound }
            isAtStart = false
        }
        return try block.take(bytes.span.extracting(range))
    }
}
