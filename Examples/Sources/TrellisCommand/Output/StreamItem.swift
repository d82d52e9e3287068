import Trellis

/// An item of `--stream lines|sse|ndjson`.
enum StreamItem: Sendable {
    /// A line, without its end.
    case line(String)
    /// A JSON text as received, on one line.
    case json(String)
    /// A server-sent event.
    case event(ServerSentEvent)

    /// The text that is printed, on one line.
    var text: String {
        switch self {
        case .line(let line): line
        case .json(let text): text
        case .event: json.text
        }
    }

    /// The value of the item in a report.
    var json: JSONValue {
        switch self {
        case .line(let line): .text(line)
        case .json(let text): .verbatim(text)
        case .event(let event):
            [
                "event": .text(event.event), "data": .text(event.data), "id": .text(event.id),
                "retry": event.retry.map { .milliseconds($0) } ?? .null,
            ]
        }
    }
}

/// A JSON text of a line of NDJSON. The error of a line that is none has the name of the type: `line 5 of the response is no JSON`.
struct JSON: Sendable {
    /// The text as received, on one line.
    let text: String

    /// Returns the text of a line. Its numbers, escapes and names stay as received.
    ///
    /// - Throws: ``JSONGrammar/Mistake`` for a line that is not JSON, because a report that contains the text would not be JSON either.
    static func text(ofLine line: Data) throws -> JSON {
        // A byte order mark (RFC 8259, section 8.1, allows a parser to ignore it) and white space around the text are removed.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = line.starts(with: mark) ? line.dropFirst(mark.count) : line
        try JSONGrammar.check(text)
        let isPart = { (byte: UInt8) in ![0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        guard let start = text.firstIndex(where: isPart), let end = text.lastIndex(where: isPart) else {
            return JSON(text: "null")
        }
        return JSON(text: String(decoding: text[start...end], as: UTF8.self))
    }
}
