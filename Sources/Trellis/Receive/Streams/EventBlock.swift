import CurlEngine

/// The lines of an event up to the blank line that ends it, and what outlives them. A pure machine: lines in, events out.
struct EventBlock {
    private let limit: Int
    private var type = ""
    private var data = ""
    /// The bytes of the data, a line feed after each line; zero where there was no line of data, not even an empty one.
    private var size = 0
    private var idBuffer: String
    private var retry: Duration?

    /// The ID at the last blank line.
    private(set) var lastEventID: String
    /// The last reconnection time that came.
    private(set) var reconnectionTime: Duration?

    init(limit: Int, lastEventID: String) {
        self.limit = limit
        self.lastEventID = lastEventID
        idBuffer = lastEventID
    }

    /// Takes a line without its end.
    mutating func take(_ line: Span<UInt8>) throws(TrellisError) -> ServerSentEvent? {
        guard !line.isEmpty else { return dispatch() }
        let colon = line.offset(of: UInt8(ascii: ":"))
        var start = min(colon + 1, line.count)
        if start < line.count, line[start] == UInt8(ascii: " ") { start += 1 }
        let value = line.extracting(start..<line.count)
        // A line that begins with a colon is a comment, and so is every field with a name that is not known.
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

    /// Only digits count; more of them than any time needs stand for the longest one.
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

/// The fields that a line of an event may be.
private enum EventField {
    case data, event, id, retry

    /// By the first bytes of a line, the field's name. Compared byte by byte: a call would cost more.
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
