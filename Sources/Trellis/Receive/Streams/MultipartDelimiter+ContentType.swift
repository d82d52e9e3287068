extension MultipartDelimiter {
    /// The boundary in the value of a `Content-Type` (RFC 9110, section 8.3.1).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableContentType`` where the type is not `multipart`, of
    ///   kind ``TrellisError/Kind/serialization`` where it has no boundary.
    init(contentType: String?) throws(TrellisError) {
        let type = contentType?.prefix { $0 != ";" } ?? ""
        guard let contentType, type.lowercased().hasPrefix("multipart/") else {
            throw .wrongStream(contentType, acceptable: "multipart/*")
        }
        guard let boundary = Self.parameter("boundary", in: contentType.dropFirst(type.count)), !boundary.isEmpty,
            boundary.utf8.count <= 256
        else { throw .malformedStream("a multipart body without a boundary") }
        self.init(boundary)
    }

    /// The value of a parameter, unquoted.
    private static func parameter(_ name: String, in text: Substring) -> String? {
        var rest = text
        while rest.popFirst() == ";" {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(key.count)
            guard rest.first == "=" else { continue }
            rest.removeFirst()
            let value = rest.first == "\"" ? takeQuoted(&rest) : takeToken(&rest)
            rest = rest.drop { $0 != ";" }
            if key.lowercased() == name { return value }
        }
        return nil
    }

    private static func takeToken(_ rest: inout Substring) -> String {
        let token = rest.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        rest = rest.dropFirst(token.count)
        return String(token)
    }

    private static func takeQuoted(_ rest: inout Substring) -> String {
        var value = ""
        rest.removeFirst()
        while let character = rest.popFirst(), character != "\"" {
            value.append(character == "\\" ? rest.popFirst() ?? character : character)
        }
        return value
    }
}
