/// Measures `lines`, `sse` and `ndjson`: one large body of text, read as its elements. The orchestrator knows the length of each element.
func measureText(_ client: some Client, _ work: Work) async throws {
    var report = Report()
    let bytes: Int
    switch work.kind {
    case .lines: bytes = try await client.readLines(work.url).bytes
    case .sse: bytes = try await client.readEvents(work.url) * TextElement.eventLength
    default: bytes = try await client.readEntries(work.url) * TextElement.entryLength
    }
    report.stop()
    report.print(requests: 1, bytes: Int64(bytes))
}

/// The lengths of the elements in the orchestrator's files (see its `TextBody`) in bytes, including line ends.
public enum TextElement {
    /// The length of an event: `data: `, JSON and a blank line.
    public static let eventLength = 128
    /// The length of a line of JSON that is a ``LogEntry``.
    public static let entryLength = 160
}

/// The value of a line of JSON.
public struct LogEntry: Decodable, Sendable {
    /// The time of the request.
    public var time: String
    /// The severity.
    public var level: String
    /// The number of the entry.
    public var id: Int
    /// The method of the request.
    public var method: String
    /// The path of the request.
    public var path: String
    /// The status of the response.
    public var status: Int
    /// The duration, in milliseconds.
    public var ms: Double
}
