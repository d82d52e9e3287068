import CurlEngine

/// The removal of secrets from URLs for messages.
package enum URLRedaction {
    /// The names of secret items, in lower case, in addition to the names in ``SecretFields``.
    private static let secretNames: Set<String> = [
        "auth", "awsaccesskeyid", "code", "jwt", "key", "pass", "pwd", "session", "sid", "sig",
    ]

    /// Returns the URL without user information and fragment, and with `REDACTED` for the values of query items and path parameters whose
    /// names indicate a secret.
    package static func redact(_ url: String) -> String {
        guard mayHoldSecret(url) else { return url }
        // A `#` in a password must not be mistaken for the beginning of the fragment.
        let result = String(withoutUserInformation(url).prefix(beforeBytes: "#"))
        guard let mark = result.firstIndex(ofByte: "?") else { return redactParameters(result[...]) }
        let query = result[result.utf8.index(after: mark)...]
        return redactParameters(result[..<mark]) + "?" + String(decoding: redactItems(query.utf8), as: UTF8.self)
    }

    /// Returns the part of a URL in front of its query with `REDACTED` for the values of secret parameters, such as `;jsessionid=1` at the
    /// end of a segment of the path (RFC 3986, section 3.3).
    private static func redactParameters(_ path: Substring) -> String {
        let pieces = path.split(atByte: ";", omittingEmptySubsequences: false)
        return pieces.dropFirst().reduce(into: String(path.prefix(beforeBytes: ";"))) { result, piece in
            let parameter = piece.prefix(beforeBytes: "/")
            result += ";" + String(decoding: redactItems(parameter.utf8), as: UTF8.self)
            result += piece[parameter.endIndex...]
        }
    }

    /// Returns whether a URL has a part that could be secret. Most URLs have none.
    package static func mayHoldSecret(_ url: String) -> Bool {
        let bytes = url.utf8.span
        for index in bytes.indices {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"): return true
            default: break
            }
        }
        return false
    }

    /// Returns the bytes of the items of a query or of a URL-encoded form, with `REDACTED` for the values of secret items. The
    /// bytes need not be UTF-8.
    static func redactItems(_ items: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for item in items.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            // The separator after the last item is removed at the end.
            if let equals = item.firstIndex(of: UInt8(ascii: "=")),
                isSecret(String(decoding: item[..<equals], as: UTF8.self)[...])
            {
                result += item[..<equals]
                result += "=REDACTED".utf8
            } else {
                result += item
            }
            result.append(UInt8(ascii: "&"))
        }
        result.removeLast()
        return result
    }

    /// Returns `true` if a URL has a username or a password.
    package static func hasUserInformation(_ url: String) -> Bool { userInformation(of: url) != nil }

    /// Returns `true` if the name of a query or form item, percent-encoded or not, indicates that its value is a secret: the
    /// complete name, or its last segment that is no index (`user[pass]`, `user.pass`, `pass[0]`).
    package static func isSecret(_ name: Substring) -> Bool {
        let name = decoded(name).lowercasedASCII()
        let segments = name.utf8.split { ".[]".utf8.contains($0) }
        let last = segments.last { segment in !segment.allSatisfy { 0x30...0x39 ~= $0 } }
            .map { String(Substring($0)) }
        return secretNames.contains(name) || SecretFields.marksSecret(name)
            || last.map { secretNames.contains($0) || SecretFields.marksSecret($0) } ?? false
    }

    /// Returns a text with its percent-encoded bytes decoded; malformed escapes stay as they are.
    package static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = Self.byte(ofDigits: rest.prefix(2)) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the byte of two hexadecimal digits; `nil` if the text is anything else, such as a number with a sign.
    private static func byte(ofDigits text: Substring.UTF8View) -> UInt8? {
        let digits = text.compactMap(\.hexValue)
        return digits.count == 2 ? digits[0] << 4 | digits[1] : nil
    }

    private static func withoutUserInformation(_ url: String) -> String {
        var url = url
        // A username may be an email address, with an `@` of its own.
        while let range = userInformation(of: url) { url = without(range, url) }
        return url
    }

    /// Returns the range of the user information with its `@`, even if the URL is invalid: the text before an `@` may be a
    /// password.
    private static func userInformation(of url: String) -> ClosedRange<String.Index>? {
        guard url.utf8.contains(UInt8(ascii: "@")) else { return nil }
        let (start, hasScheme) = authorityStart(url)
        let authority = url[start...].prefix(beforeBytes: "/?#")
        if let at = authority.lastIndex(ofByte: "@") { return start...at }
        // Text in the place of a port may be the beginning of a password that contains an unencoded delimiter.
        let isLiteral = authority.hasBytePrefix("[") && authority.utf8.last == UInt8(ascii: "]")
        guard !isLiteral, let colon = authority.lastIndex(ofByte: ":") else { return nil }
        let port = authority.utf8[colon...].dropFirst()
        guard !port.allSatisfy({ 0x30...0x39 ~= $0 }) || (port.isEmpty && !hasScheme),
            let at = url[start...].lastIndex(ofByte: "@")
        else { return nil }
        return start...at
    }

    /// Returns the position where the authority begins, or would begin if a scheme stood before it.
    private static func authorityStart(_ url: String) -> (start: String.Index, hasScheme: Bool) {
        var rest = url.utf8[...]
        // A mistyped scheme counts as a scheme, but text before a delimiter of another part of the URL does not.
        let mark = rest.firstIndex { ":/?#@".utf8.contains($0) }
        let hasScheme = mark.map { rest[$0...].starts(with: "://".utf8) } ?? false
        if hasScheme, let mark { rest = rest[rest.index(after: mark)...] }
        return (rest.drop { $0 == UInt8(ascii: "/") }.startIndex, hasScheme)
    }

    /// Returns a URL without the bytes of a range, which ends with an ASCII character.
    private static func without(_ range: ClosedRange<String.Index>, _ url: String) -> String {
        String(url[..<range.lowerBound]) + url[url.utf8.index(after: range.upperBound)...]
    }
}
