import Trellis

/// An item of `--stream lines|sse|ndjson`.
enum StreamItem: Sendable {
    /// A line, without its end.
    case line(String)
    /// A JSON text as it came, on one line.
    case json(String)
    /// A server-sent event.
    case event(ServerSentEvent)

    /// What is printed, on one line.
    var text: String {
        switch self {
        case .line(let line): line
        case .json(let text): text
        case .event: json.text
        }
    }

    /// The item in a report.
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

extension StreamItem {
    /// A line of NDJSON. Its numbers, escapes and names stay as they came.
    ///
    /// - Throws: What the decoder says of a line that is no JSON.
    static func json(line: Data) throws -> StreamItem {
        // Decoded down to the last number, so that a report that holds the text is JSON itself.
        _ = try JSONDecoder().decode(Trellis.JSONValue.self, from: line)
        // White space around it, and a byte order mark, are no part of it.
        let isPart = { (byte: UInt8) in !" \t\r\u{FEFF}".utf8.contains(byte) }
        guard let start = line.firstIndex(where: isPart), let end = line.lastIndex(where: isPart) else {
            return .json("null")
        }
        return .json(String(decoding: line[start...end], as: UTF8.self))
    }
}
