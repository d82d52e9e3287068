import TerminalKit
import Trellis

/// An output of one JSON object instead of the body. Of a body above the limit only the size is kept, and of items above the limit only
/// their number.
struct ReportOutput: Output {
    /// The size up to which a body is part of the report, in bytes.
    private static let largestBody = 1 << 20
    /// The number of items that are part of the report. More of them are if `--limit` says so.
    private static let largestItemCount = 1000

    /// The number of bytes of the body; `nil` if the output is a stream of items, because the end of a line, for example, is not delivered
    /// with the line.
    private var count: Int?
    /// The body; `nil` if it is above the limit.
    private var body: Data?
    /// The items; `nil` if the body is reported instead.
    private var items: [JSONValue]?
    private var itemCount = 0
    private let itemLimit: Int
    /// The destination of a copy of the body, if there is one.
    private let sink: ByteSink?

    /// - Parameters:
    ///   - hasItems: Whether the items are reported instead of the body.
    ///   - limit: The number of items after which the stream ends; `nil` if there is none.
    ///   - sink: The destination of a copy of the body; `nil` if no copy is written.
    init(hasItems: Bool, upTo limit: Int? = nil, copyingTo sink: ByteSink? = nil) {
        self.sink = sink
        itemLimit = limit ?? Self.largestItemCount
        if hasItems { items = [] } else { (count, body) = (0, Data()) }
    }

    func begin(_ head: Response, after earlier: String) {}

    func end(after earlier: String) {}

    mutating func chunk(_ bytes: Data) async throws -> Bool {
        try await sink?.write(bytes)
        count = count.map { $0 + bytes.count }
        if let collected = body, collected.count + bytes.count <= Self.largestBody {
            body?.append(bytes)
        } else {
            body = nil
        }
        return true
    }

    mutating func item(_ item: StreamItem) {
        itemCount += 1
        if itemCount <= itemLimit { items?.append(item.json) }
    }

    mutating func refuse(_ beginning: Data) { (count, body) = (beginning.count, beginning) }

    /// Stores the size of a body that is in a file, and its bytes if the file is complete and small enough.
    mutating func save(_ size: Int64, of path: String?) {
        count = Int(size)
        body = size <= Self.largestBody ? path.flatMap { try? Data(contentsOf: URL(filePath: $0)) } : nil
    }

    func end(_ outcome: Outcome) async throws {
        let text = report(on: outcome).text
        let isForPeople = Terminal.output.isTerminal
        let pretty = isForPeople ? JSONPrinter(terminal: .output).pretty(Data(text.utf8)) : nil
        try await StandardOutput.write((pretty ?? text) + "\n")
    }

    private func report(on outcome: Outcome) -> JSONValue {
        let response = outcome.response
        return [
            "ok": .bool(outcome.failure == nil),
            "url": .string(outcome.url),
            "status": .integer(response?.status.code),
            "http_version": .string(response?.version.rawValue),
            "headers": JSONValue(response?.headers ?? [:]),
            "trailers": JSONValue(response?.trailers ?? [:]),
            "informational": .array((response?.informational ?? []).map(JSONValue.init)),
            "body": ["bytes": .integer(count), "base64": .string(body?.base64EncodedString())],
            "items": items.map { .array($0) } ?? .null, "item_count": .integer(items == nil ? nil : itemCount),
            "redirects": .array((response?.redirects ?? outcome.failure?.redirects ?? []).map(JSONValue.init)),
            "attempts": .integer(outcome.metrics.attemptCount),
            "from_cache": .bool(outcome.metrics.cacheStatus?.isFromCache ?? false),
            "cache_status": .string(outcome.metrics.cacheStatus?.description),
            "proxy": .string(outcome.metrics.proxyURL),
            "error": outcome.failure.map(JSONValue.init) ?? .null,
            "metrics": JSONValue(outcome.metrics),
        ]
    }
}

extension JSONValue {
    fileprivate init(_ fields: HTTPFields) {
        self = .array(fields.map { [.string($0.name.rawName), .string($0.value)] })
    }

    fileprivate init(_ head: ResponseHead) {
        self = ["status": .integer(head.status.code), "headers": JSONValue(head.headers)]
    }

    fileprivate init(_ redirect: Redirect) {
        self = [
            "status": .integer(redirect.status.code), "from": .string(redirect.from), "to": .string(redirect.to),
        ]
    }

    init(_ failure: RequestFailure) {
        self = [
            "kind": .string(failure.kind), "message": .string(failure.message),
            "retryable": .bool(failure.isRetryable), "attempts": .integer(failure.attempts),
        ]
    }

    init(_ metrics: Metrics) {
        self = [
            "queued_s": .seconds(metrics.queued), "dns_s": .seconds(metrics.nameLookup),
            "connect_s": .seconds(metrics.connect), "tls_s": .seconds(metrics.tls),
            "first_byte_s": .seconds(metrics.firstByte), "total_s": .seconds(metrics.total),
            "bytes_sent": .integer(Int(metrics.bytesSent)), "bytes_received": .integer(Int(metrics.bytesReceived)),
            "reused_connection": .bool(metrics.isReusedConnection),
            "tls_version": .string(metrics.negotiatedTLS?.version?.rawValue),
            "tls_cipher": .string(metrics.negotiatedTLS?.cipherSuite),
            "alpn": .string(metrics.negotiatedTLS?.applicationProtocol),
        ]
    }
}
