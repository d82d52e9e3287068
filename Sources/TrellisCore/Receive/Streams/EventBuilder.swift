import CurlEngine

/// The lines of an event up to the blank line that ends it, and the state that outlives the event. Performs no I/O: lines in,
/// events out.
struct EventBuilder {
    private let limit: Int
    /// The type of the event; empty unless a line has given one.
    private var type = ""
    private var data = ""
    /// The size of the data in bytes, with a line feed after each line; zero if there was no line of data, not even an empty one.
    private var size = 0
    /// The last ID received, which becomes ``lastEventID`` at the next blank line.
    private var idBuffer: String
    private var retry: Duration?

    /// The ID at the last blank line.
    private(set) var lastEventID: String
    /// The last reconnection time received.
    private(set) var reconnectionTime: Duration?

    init(limit: Int, lastEventID: String) {
        self.limit = limit
        self.lastEventID = lastEventID
        idBuffer = lastEventID
    }

    /// Takes a line without its end, and returns the event if the line completes one.
    mutating func take(_ line: Span<UInt8>) throws(TrellisError) -> ServerSentEvent? {
        guard !line.isEmpty else { return dispatch() }
        let colon = line.offset(of: UInt8(ascii: ":"))
        var start = min(colon + 1, line.count)
        if start < line.count, line[start] == UInt8(ascii: " ") { start += 1 }
        let value = line.extracting(start..<line.count)
        // A line that begins with a colon is a comment. A field with an unknown name is ignored like one.
        switch EventField(line, nameLength: colon) {
        case .data: try append(value)
        case .event: type = String(utf8: value)
        case .id: if value.offset(of: 0) == value.count { idBuffer = String(utf8: value) }
        case .retry: takeRetry(value)
        case nil: break
        }
        return nil
    }

    private mutating func append(_ value: Span<UInt8>) throws(TrellisError) {
        guard size + value.count <= limit else { throw .tooLong("the data of an event", limit: limit) }
        if size == 0 {
            data = String(utf8: value)
        } else {
            data += "\n"
            data += String(utf8: value)
        }
        size += value.count + 1
    }

    /// Takes a reconnection time in milliseconds. A value with other characters than digits is ignored; a value that is too large
    /// becomes the longest time.
    private mutating func takeRetry(_ value: Span<UInt8>) {
        var milliseconds: Int64 = 0
        for index in 0..<value.count {
            guard value[index] >= UInt8(ascii: "0"), value[index] <= UInt8(ascii: "9") else { return }
            let (product, isTooLarge) = milliseconds.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = product.addingReportingOverflow(Int64(value[index] - UInt8(ascii: "0")))
            milliseconds = isTooLarge || isSumTooLarge ? .max : sum
        }
        guard !value.isEmpty else { return }
        retry = .milliseconds(milliseconds)
        reconnectionTime = retry
    }

    /// Ends the event at a blank line, and returns the event if there was a line of data.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = idBuffer
        defer {
            data = ""
            size = 0
            type = ""
            retry = nil
        }
        guard size > 0 else { return nil }
        return ServerSentEvent(event: type.isEmpty ? "message" : type, data: data, id: idBuffer, retry: retry)
    }
}

/// The fields of an event, one per line.
private enum EventField {
    case data, event, id, retry

    /// Creates the field whose name is the first bytes of a line; `nil` if the name is unknown. The name is compared byte by byte,
    /// because a call would cost more.
    init?(_ line: Span<UInt8>, nameLength: Int) {
        switch nameLength {
        case 2 where line[0] == UInt8(ascii: "i") && line[1] == UInt8(ascii: "d"): self = .id
        case 4
        where line[0] == UInt8(ascii: "d") && line[1] == UInt8(ascii: "a") && line[2] == UInt8(ascii: "t")
            && line[3] == UInt8(ascii: "a"):
            self = .data
        case 5
        where line[0] == UInt8(ascii: "e") && line[1] == UInt8(ascii: "v") && line[2] == UInt8(ascii: "e")
            && line[3] == UInt8(ascii: "n") && line[4] == UInt8(ascii: "t"):
            self = .event
        case 5
        where line[0] == UInt8(ascii: "r") && line[1] == UInt8(ascii: "e") && line[2] == UInt8(ascii: "t")
            && line[3] == UInt8(ascii: "r") && line[4] == UInt8(ascii: "y"):
            self = .retry
        default: return nil
        }
    }
}
