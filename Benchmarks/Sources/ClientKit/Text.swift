/// lines, sse, ndjson: one large body of text, read as what it means. The orchestrator knows how long each element is.
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

/// The lengths of what the orchestrator's files are made of (`TextBody` there), line ends included.
public enum TextElement {
    /// `data: ` and JSON, and a blank line.
    public static let eventLength = 128
    /// A line of JSON that is a ``LogEntry``.
    public static let entryLength = 160
}

/// What a line of JSON holds.
public struct LogEntry: Decodable, Sendable {
    /// When.
    public var time: String
    /// How bad.
    public var level: String
    /// Which.
    public var id: Int
    /// What was asked.
    public var method: String
    /// Of what.
    public var path: String
    /// What was answered.
    public var status: Int
    /// How fast.
    public var ms: Double
}
