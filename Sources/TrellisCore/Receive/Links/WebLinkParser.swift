import CurlEngine
public import HTTPTypes

/// A parser of `Link` fields on bytes (RFC 8288, appendix B.2). A malformed link ends its field: the links before it count.
struct WebLinkParser {
    private var rest: ArraySlice<UInt8>

    private init(_ value: String) { rest = Array(value.utf8)[...] }

    /// Returns the links of a field.
    ///
    /// - Parameters:
    ///   - value: The value of the field.
    ///   - url: The URL of the response, against which relative targets are resolved.
    static func links(in value: String, of url: String) -> [WebLink] {
        var parser = WebLinkParser(value)
        let base = URLReference(url)
        var links: [WebLink] = []
        while let target = parser.target() {
            links.append(Self.link(to: target, parser.parameters(), base: base))
            parser.skipBlanks()
            guard parser.take(",") else { break }
        }
        return links
    }

    private static func link(
        to target: String, _ parameters: [(name: String, value: String)], base: URLReference
    ) -> WebLink {
        var values: [String: String] = [:]
        for (name, value) in parameters where values[name] == nil { values[name] = value }
        for (name, value) in values where name.utf8.last == UInt8(ascii: "*") {
            values[name] = nil
            let plain = String(decoding: name.utf8.dropLast(), as: UTF8.self)
            // The relations and the anchor have no extended form.
            guard plain != "rel", plain != "anchor" else { continue }
            if let text = PercentEncoding.extendedValue(Array(value.utf8)) { values[plain] = text }
        }
        let anchor = values["anchor"].map { URLReference($0).resolved(against: base).text }
        let relations = (values["rel"] ?? "").utf8.split { isBlank($0) }
        return WebLink(
            url: URLReference(target).resolved(against: base).text,
            relations: relations.map { Substring($0).lowercasedASCII() },
            anchor: anchor.flatMap { $0.hasSameBytes(as: base.text) ? nil : $0 }, parameters: values)
    }

    /// Takes a target in angle brackets, in which commas and semicolons mean nothing; `nil` if there is no complete one.
    private mutating func target() -> String? {
        // Elements of a list may be empty (RFC 9110, section 5.6.1).
        repeat { skipBlanks() } while take(",")
        guard take("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        defer { rest = rest[(end + 1)...] }
        var target = rest[..<end].drop(while: Self.isBlank)
        while let last = target.last, Self.isBlank(last) { target.removeLast() }
        return String(decoding: target, as: UTF8.self)
    }

    /// Takes the parameters after a target, with their names in lower case (RFC 8288, appendix B.3).
    private mutating func parameters() -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        while true {
            skipBlanks()
            guard take(";") else { return parameters }
            skipBlanks()
            let name = takePrefix { !Self.isBlank($0) && !"=;,".utf8.contains($0) }
            skipBlanks()
            var value = ""
            if take("=") {
                skipBlanks()
                if take("\"") {
                    value = quoted()
                } else {
                    value = takePrefix { !";,".utf8.contains($0) }.withoutTrailingBlanks
                }
            }
            if !name.isEmpty { parameters.append((name.lowercasedASCII(), value)) }
        }
    }

    /// Takes the rest of a quoted string, and returns it without escapes. One without an end is all the rest.
    private mutating func quoted() -> String {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                bytes.append(escaped)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func takePrefix(while isPart: (UInt8) -> Bool) -> String {
        let part = rest.prefix(while: isPart)
        rest = rest[part.endIndex...]
        return String(decoding: part, as: UTF8.self)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipBlanks() { rest = rest.drop(while: Self.isBlank) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension HTTPField.Name {
    // The text is a token, so the fallback is never used.
    /// The name of the field with a response's links (RFC 8288, section 3): see ``Trellis/Response/links``.
    public static let link = HTTPField.Name("Link") ?? .location
}
