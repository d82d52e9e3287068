import CurlEngine

extension MultipartDelimiter {
    /// Creates the delimiter from the boundary in the value of a `Content-Type` (RFC 9110, section 8.3.1).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableContentType`` if the type is not `multipart`, of kind
    ///   ``TrellisError/Kind/serialization`` if the type has no boundary of 1 to 256 bytes.
    init(contentType: String?) throws(TrellisError) {
        guard let contentType, contentType.lowercased().hasBytePrefix("multipart/") else {
            throw .wrongStream(contentType, acceptable: "multipart/*")
        }
        guard let boundary = Self.parameter("boundary", in: contentType), !boundary.isEmpty, boundary.count <= 256
        else { throw .malformedStream("the multipart content type has no boundary of 1 to 256 bytes") }
        self.init(boundary)
    }

    /// Returns the value of a parameter, unquoted. Blanks around the equals sign, and bytes in a value that a token may not have,
    /// are accepted: servers send both.
    private static func parameter(_ name: String, in text: String) -> [UInt8]? {
        var rest = Array(text.utf8)[...]
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[(semicolon + 1)...].drop(while: isBlank)
            var key = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest[key.endIndex...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            while let last = key.last, isBlank(last) { key.removeLast() }
            rest = rest.dropFirst().drop(while: isBlank)
            let value = rest.first == UInt8(ascii: "\"") ? takeQuoted(&rest) : takeToken(&rest)
            if String(decoding: key, as: UTF8.self).lowercased() == name { return value }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func takeToken(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        let token = rest.prefix { $0 != UInt8(ascii: ";") && !isBlank($0) }
        rest = rest[token.endIndex...]
        return Array(token)
    }

    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return value
    }
}
