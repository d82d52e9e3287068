import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The removal of secrets from multipart bodies (RFC 2046, section 5.1): the contents of parts whose names indicate a secret, the secrets
/// of other contents, by their types, and secret fields of parts. All other bytes stay as they are.
package struct MultipartRedaction {
    /// The remark about what cannot be understood.
    private static let remark = "the rest is not multipart, and is left out because it may hold secrets"
    /// The remark about a content whose codings are not removed.
    private static let codingRemark = "a part with a coding is left out because it may hold secrets"
    /// The number of multipart bodies within each other that are looked into.
    private static let maximumDepth = 8
    /// The names of the fields with the codings of a part, in lower case.
    package static let codingFields: Set<String> = ["content-transfer-encoding", "content-encoding"]
    /// The codings that are none (RFC 2045, section 6.2; RFC 9110, section 8.4.1).
    private static let noCodings: Set<String> = ["", "7bit", "8bit", "binary", "identity"]
    /// The kinds of a `Content-Disposition` that need no name, in lower case.
    private static let kindsWithoutNames: Set<String> = ["attachment", "inline", "file"]

    /// A line between two parts.
    private struct Delimiter {
        /// The range of the line with its end.
        let line: Range<Int>
        /// Whether no part follows.
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

    /// Returns whether a `Content-Type` names a multipart body, even a malformed one.
    static func isMultipart(_ type: String) -> Bool { type.lowercasedASCII().containsBytes("multipart/") }

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
                trimmed(parameter[..<sign].utf8).lowercasedASCII() == "boundary"
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

    /// Adds a part, with the line break in front of the delimiter after it.
    private mutating func addPart(_ part: ArraySlice<UInt8>) {
        // The body ends after the delimiter.
        guard !part.isEmpty else { return }
        var (type, isSecret) = ("text/plain", false)
        var codings: [String] = []
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
            switch name.lowercasedASCII() {
            case "content-disposition": isSecret = isSecret || Self.namesSecret(value)
            case "content-type": type = value
            case let field where Self.codingFields.contains(field): codings.append(value)
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
            addContent(content.dropLast(lineBreak), type: type, codings: codings)
        }
        output += content.suffix(lineBreak)
    }

    /// Returns the number of bytes of the line break at the end.
    private static func lineBreak(atEndOf content: ArraySlice<UInt8>) -> Int {
        guard content.last == 0x0A else { return 0 }
        return content.dropLast().last == 0x0D ? 2 : 1
    }

    /// Returns whether a `Content-Disposition` names a part whose content is a secret. A name that another reader may read otherwise counts
    /// as a secret's, and so does a missing one, which a part of a form must have (RFC 7578, section 4.2).
    package static func namesSecret(_ disposition: String) -> Bool {
        // A field in several lines has line breaks.
        var scanner = FieldScanner(disposition.replacing(byte: "\r", with: " ").replacing(byte: "\n", with: " "))
        let kind = scanner.token()?.lowercasedASCII() ?? ""
        var hasName = false
        while scanner.skip(past: ";") {
            scanner.skipSpace()
            guard let parameter = scanner.token()?.lowercasedASCII(), parameter.split(atByte: "*").first == "name"
            else {
                continue
            }
            scanner.skipSpace()
            // A name in several parameters (RFC 2231, section 3) is not put together.
            guard ["name", "name*"].contains(parameter), scanner.take("=") else { return true }
            scanner.skipSpace()
            guard let name = Self.name(&scanner), !isSecret(name) else { return true }
            hasName = true
        }
        if hasName { return false }
        return !kindsWithoutNames.contains(kind) || SecretFields.marksSecret(disposition.lowercasedASCII())
    }

    /// Takes the name of a part; returns `nil` if it cannot be read, or if another reader may read it otherwise. Some senders do not quote
    /// the brackets and letters that a token may not have.
    private static func name(_ scanner: inout FieldScanner) -> String? {
        if scanner.isAt("\"") {
            guard let name = scanner.tokenOrQuoted() else { return nil }
            scanner.skipSpace()
            return scanner.isAtEnd || scanner.isAt(";") ? trimmed(name.utf8) : nil
        }
        let name = trimmed(scanner.bytes(before: ";"))
        let isPlain = name.utf8.allSatisfy { byte in
            FieldScanner.isTokenByte(byte) || "[]".utf8.contains(byte) || byte >= 0x80
        }
        return isPlain && !name.isEmpty ? name : nil
    }

    /// Returns whether the name of a part indicates that its content is a secret. An encoded name is after an apostrophe (RFC 8187,
    /// section 3.2); what the words of RFC 2047 say is not known.
    private static func isSecret(_ name: String) -> Bool {
        let start = name.lastIndex(ofByte: "'").map { name.utf8.index(after: $0) } ?? name.startIndex
        return name.containsBytes("=?") || URLRedaction.isSecret(name[...]) || URLRedaction.isSecret(name[start...])
    }

    /// Returns the line of a field, without the value if that is a secret.
    private static func redacted(_ line: ArraySlice<UInt8>, name: String, value: String) -> [UInt8] {
        guard let fieldName = HTTPField.Name(name) else { return Array(line) }
        let field = HTTPField(name: fieldName, value: value)
        let redacted = SecretFields.redacted(field)
        if redacted.hasSameBytes(as: field.value) { return Array(line) }
        return Array("\(name): \(redacted)\r\n".utf8)
    }

    private mutating func addContent(_ content: ArraySlice<UInt8>, type: String, codings: [String] = []) {
        guard !content.isEmpty else { return }
        let (shown, reason) = Self.redacted(Data(content), type: type, codings: codings, depth: depth)
        output += shown
        remark = remark ?? reason
    }

    /// Returns the content of a part without the secrets that it has by its type, and a remark if a piece of it is left out because it may
    /// hold some. A content in Base64 stays in Base64; one with other codings is left out.
    ///
    /// - Parameters:
    ///   - type: The `Content-Type` of the part.
    ///   - codings: The values of the fields of the part that are named in ``codingFields``.
    ///   - depth: The number of multipart bodies around the one that has the part.
    package static func redacted(
        _ content: Data, type: String, codings: [String], depth: Int = 0
    ) -> (body: Data, remark: String?) {
        let codings = codings.map { $0.lowercasedASCII() }.filter { !noCodings.contains($0) }
        if codings.isEmpty { return withoutSecrets(content, type: type, depth: depth) }
        let base64 = Data(content.filter { !isBlank($0) })
        guard codings == ["base64"], let decoded = Data(base64Encoded: base64) else {
            return (Data(), content.isEmpty ? nil : codingRemark)
        }
        let (shown, remark) = withoutSecrets(decoded, type: type, depth: depth)
        return (shown == decoded ? content : Data(shown.base64EncodedString().utf8), remark)
    }

    private static func withoutSecrets(
        _ content: Data, type: String, depth: Int
    ) -> (body: Data, remark: String?) {
        isMultipart(type)
            ? redacted(content, type: type, depth: depth + 1) : BodyRedaction.redacted(content, type: type)
    }
}
