import CurlEngine

/// The lines of an event up to the blank line that ends it, and what outlives them. A pure machine: lines in, events out.
struct EventBlock {
    private static let id = Array("id".utf8)
    private static let data = Array("data".utf8)
    private static let event = Array("event".utf8)
    private static let retry = Array("retry".utf8)

    private let limit: Int
    private var type = ""
    /// Each line with a line feed after it.
    private var data: [UInt8] = []
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
        switch colon {
        case 2 where line.matches(Self.id.span, at: 0):
            if value.offset(of: 0) == value.count { idBuffer = String(utf8: value) }
        case 4 where line.matches(Self.data.span, at: 0): try append(value)
        case 5 where line.matches(Self.event.span, at: 0): type = String(utf8: value)
        case 5 where line.matches(Self.retry.span, at: 0): takeRetry(value)
        default: break
        }
        return nil
    }

    private mutating func append(_ value: Span<UInt8>) throws(TrellisError) {
        guard data.count + value.count <= limit else { throw .tooLong("the data of an event", limit: limit) }
        data.append(copying: value)
        data.append(UInt8(ascii: "\n"))
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
            data.removeAll(keepingCapacity: true)
            type = ""
            retry = nil
        }
        guard !data.isEmpty else { return nil }
        data.removeLast()
        return ServerSentEvent(
            event: type.isEmpty ? "message" : type, data: String(utf8: data.span), id: idBuffer, retry: retry)
    }
}
