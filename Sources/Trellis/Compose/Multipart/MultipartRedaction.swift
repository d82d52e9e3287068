import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The removal of secrets from multipart bodies (RFC 2046, section 5.1): the contents of parts whose names indicate a secret, the secrets
/// of other contents, by their types, and secret fields of parts. All other bytes stay as they are.
struct MultipartRedaction {
    /// The remark about what cannot be understood.
    private static let remark = "the rest is not multipart, and is left out because it may hold secrets"
    /// The number of multipart bodies within each other that are looked into.
    private static let maximumDepth = 8

    /// A line between two parts.
    private struct Delimiter {
        /// The range of the line with its end.
        let line: Range<Int>
        /// Indicates whether no part follows.
        let isLast: Bool
    }

    private let bytes: [UInt8]
    private let depth: Int
    private var output: [UInt8] = []
    private var remark: String?

    private init(_ body: Data, depth: Int) {
        bytes = [UInt8](body)
        self.depth = depth
    }

    /// Returns whether a `Content-Type` is that of a multipart body, be it malformed.
    static func isMultipart(_ type: String) -> Bool { type.lowercased().containsBytes("multipart/") }

    /// Returns the bytes of a body without secrets, and a remark if a part of it is left out because it may hold some. The body may end
    /// early.
    static func redacted(_ body: Data, type: String) -> (body: Data, remark: String?) {
        redacted(body, type: type, depth: 0)
    }

    private static func redacted(_ body: Data, type: String, depth: Int) -> (body: Data, remark: String?) {
        guard !body.isEmpty else { return (body, nil) }
        guard depth < maximumDepth, let boundary = Self.boundary(in: type) else { return (Data(), remark) }
        var redaction = MultipartRedaction(body, depth: depth)
        redaction.run(boundary)
        return (Data(redaction.output), redaction.remark)
    }

    /// Returns the boundary in a `Content-Type`, which has neither semicolons nor quotation marks (RFC 2046, section 5.1.1). Some senders
    /// do not quote the bytes that a token may not have.
    private static func boundary(in type: String) -> String? {
        for parameter in type.split(atByte: ";").dropFirst() {
            guard let sign = parameter.firstIndex(ofByte: "="),
                trimmed(parameter[..<sign].utf8).lowercased() == "boundary"
            else { continue }
            let value = trimmed(parameter[parameter.utf8.index(after: sign)...].utf8)
            let boundary = value.split(atByte: "\"").first.map { String($0) } ?? ""
            return boundary.isEmpty ? nil : boundary
        }
        return nil
    }

    private static func trimmed(_ bytes: some Collection<UInt8>) -> String {
        var kept = [UInt8](bytes.drop(while: isBlank))
        while let last = kept.last, isBlank(last) { kept.removeLast() }
        return String(decoding: kept, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D, 0x0A].contains(byte) }

    private mutating func run(_ boundary: String) {
        let delimiters = delimiters("--\(boundary)")
        guard let first = delimiters.first else {
            remark = Self.remark
            return
        }
        addContent(bytes[..<first.line.lowerBound], type: "text/plain")
        for (number, delimiter) in delimiters.enumerated() {
            output += bytes[delimiter.line]
            let end = number + 1 < delimiters.count ? delimiters[number + 1].line.lowerBound : bytes.count
            let part = bytes[delimiter.line.upperBound..<end]
            if delimiter.isLast { addContent(part, type: "text/plain") } else { addPart(part) }
        }
    }

    /// Returns the lines that consist of a marker, two hyphens if no part follows, and blanks.
    private func delimiters(_ marker: String) -> [Delimiter] {
        let marker = Array(marker.utf8)
        var delimiters: [Delimiter] = []
        var start = 0
        while start < bytes.count {
            let end = endOfLine(from: start)
            let line = bytes[start..<end]
            if line.starts(with: marker) {
                let rest = line.dropFirst(marker.count)
                let isLast = rest.starts(with: "--".utf8)
                if rest.dropFirst(isLast ? 2 : 0).allSatisfy(Self.isBlank) {
                    delimiters.append(Delimiter(line: start..<end, isLast: isLast))
                }
            }
            start = end
        }
        return delimiters
    }

    /// Returns the index after the end of a line.
    private func endOfLine(from start: Int) -> Int {
        let end = bytes.span.offset(of: 0x0A, from: start)
        return end < bytes.count ? end + 1 : end
    }

    /// Adds a part, with the line break in front of the delimiter behind it.
    private mutating func addPart(_ part: ArraySlice<UInt8>) {
        // The body ends behind the delimiter.
        guard !part.isEmpty else { return }
        var (type, isSecret) = ("text/plain", false)
        var head: [UInt8] = []
        var start = part.startIndex
        while true {
            guard start < part.endIndex else {
                // A head without its end, whose part has no content.
                remark = remark ?? Self.remark
                return
            }
            var end = endOfLine(from: start)
            if bytes[start..<end].allSatisfy(Self.isBlank) {
                head += bytes[start..<end]
                start = end
                break
            }
            // A line that begins with a blank continues the field (RFC 5322, section 2.2.3).
            while end < part.endIndex, bytes[end] == 0x20 || bytes[end] == 0x09 { end = endOfLine(from: end) }
            let line = bytes[start..<end]
            let sign = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            let name = Self.trimmed(line[..<sign])
            let value = Self.trimmed(line[sign...].dropFirst())
            switch name.lowercased() {
            case "content-disposition": isSecret = isSecret || Self.namesSecret(value)
            case "content-type": type = value
            default: break
            }
            head += Self.redacted(line, name: name, value: value)
            start = end
        }
        output += head
        let content = part[start...]
        let lineBreak = Self.lineBreak(atEndOf: content)
        if isSecret, content.count > lineBreak {
            output += BodyRedaction.mark.utf8
        } else {
            addContent(content.dropLast(lineBreak), type: type)
        }
        output += content.suffix(lineBreak)
    }

    /// Returns the number of bytes of the line break at the end.
    private static func lineBreak(atEndOf content: ArraySlice<UInt8>) -> Int {
        guard content.last == 0x0A else { return 0 }
        return content.dropLast().last == 0x0D ? 2 : 1
    }

    /// Returns whether a `Content-Disposition` names a part whose content is a secret. A name that cannot be read is looked for in all of
    /// the value.
    private static func namesSecret(_ disposition: String) -> Bool {
        // The line breaks are those of a field in several lines.
        var scanner = FieldScanner(disposition.replacing(byte: "\r", with: " ").replacing(byte: "\n", with: " "))
        var hasName = false
        while scanner.skip(past: ";") {
            scanner.skipSpace()
            guard let parameter = scanner.token(), scanner.take("="), let value = scanner.tokenOrQuoted() else {
                continue
            }
            guard ["name", "name*"].contains(parameter.lowercased()) else { continue }
            hasName = true
            if URLRedaction.isSecret(value[...]) { return true }
        }
        return !hasName && SecretFields.marksSecret(disposition.lowercased())
    }

    /// Returns the line of a field, without the value if that is a secret.
    private static func redacted(_ line: ArraySlice<UInt8>, name: String, value: String) -> [UInt8] {
        guard let fieldName = HTTPField.Name(name) else { return Array(line) }
        let field = HTTPField(name: fieldName, value: value)
        let redacted = SecretFields.redacted(field)
        if redacted.hasSameBytes(as: field.value) { return Array(line) }
        return Array("\(name): \(redacted)\r\n".utf8)
    }

    private mutating func addContent(_ content: ArraySlice<UInt8>, type: String) {
        guard !content.isEmpty else { return }
        let (shown, why) =
            Self.isMultipart(type)
            ? Self.redacted(Data(content), type: type, depth: depth + 1)
            : BodyRedaction.redacted(Data(content), type: type)
        output += shown
        remark = remark ?? why
    }
}
