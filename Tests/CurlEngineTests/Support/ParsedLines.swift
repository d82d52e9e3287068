@testable import CurlEngine

/// A head, parsed line by line as libcurl delivers its lines.
struct ParsedLines {
    var informational: [WireHead] = []
    var final: WireHead?
    private(set) var trailers: WireFields
    private(set) var contentLength: Int64?
    private(set) var hasTransferEncoding: Bool
    private(set) var hasFinalHead: Bool

    init(_ text: String, limit: Int = 1 << 20) throws(HeadFailure) {
        var parser = HeadParser(limit: limit)
        for line in Self.lines(text) {
            let result = unsafe line.withUnsafeBytes { bytes -> Result<HeadParser.Outcome, HeadFailure> in
                do throws(HeadFailure) {
                    return .success(try unsafe parser.parse(bytes))
                } catch {
                    return .failure(error)
                }
            }
            switch try result.get() {
            case .more: break
            case .informational: informational.append(parser.takeHead())
            case .final: final = parser.takeHead()
            }
        }
        trailers = parser.trailers
        contentLength = parser.contentLength
        hasTransferEncoding = parser.hasTransferEncoding
        hasFinalHead = parser.hasFinalHead
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
