@testable import CurlEngine

/// A head of HTTP/3, read line by line as libcurl delivers its lines.
struct ParsedLines {
    var informational: [WireHead] = []
    var final: WireHead?
    private(set) var trailers: WireFields
    private(set) var contentLength: Int64?
    private(set) var hasFinalHead: Bool

    init(_ text: String, limit: Int = 1 << 20) throws(HeadFailure) {
        var head = HTTP3Head(limit: limit)
        for line in Self.lines(text) {
            let read = unsafe try line.span.withUnsafeBytes { line throws(HeadFailure) in unsafe try head.read(line) }
            guard let read else { continue }
            if head.isFinal { final = read } else { informational.append(read) }
        }
        trailers = head.trailers
        contentLength = head.contentLength
        hasFinalHead = head.isFinal
    }

    private static func lines(_ text: String) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = Array(text.utf8)[...]
        while let end = rest.firstIndex(of: 10) {
            lines.append(Array(rest[...end]))
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { lines.append(Array(rest)) }
        return lines
    }

    /// Returns the fields as `name:value`.
    static func text(_ fields: WireFields) -> [String] {
        var all: [String] = []
        fields.forEachLine { line, parts in
            let (name, value) = (line.extracting(..<parts.nameEnd), line.extracting(parts.valueStart...))
            all.append(
                String(decoding: name.indices.map { name[$0] }, as: UTF8.self) + ":"
                    + String(decoding: value.indices.map { value[$0] }, as: UTF8.self))
        }
        return all
    }
}
