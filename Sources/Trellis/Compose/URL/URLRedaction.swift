import CurlEngine

/// Takes the secrets out of a URL for messages.
enum URLRedaction {
    private static let secretNames: Set<String> = [
        "auth", "awsaccesskeyid", "code", "jwt", "key", "pass", "pwd", "session", "sid", "sig",
    ]

    /// The URL without user information and fragment, and with `REDACTED` for query values whose names say that they are
    /// secret.
    static func redact(_ url: String) -> String {
        // A password may hold a mark that begins a fragment elsewhere.
        let result = String(withoutUserInformation(url).prefix(beforeBytes: "#"))
        guard let mark = result.firstIndex(ofByte: "?") else { return result }
        let query = result[result.utf8.index(after: mark)...]
        return result[..<mark] + "?" + redactItems(query)
    }

    /// The items of a query or of a URL-encoded form, with `REDACTED` for the values of secret ones.
    static func redactItems(_ items: Substring) -> String {
        items.split(atByte: "&", omittingEmptySubsequences: false).map { item -> Substring in
            guard let equals = item.firstIndex(ofByte: "="), isSecret(item[..<equals]) else { return item }
            return item[..<equals] + "=REDACTED"
        }.joined(separator: "&")
    }

    /// Whether a URL has a user or a password.
    static func hasUserInformation(_ url: String) -> Bool { userInformation(of: url) != nil }

    /// Whether the name of a query or form item, percent-encoded or not, says that its value is a secret.
    static func isSecret(_ name: Substring) -> Bool {
        let name = decoded(name).lowercased()
        return secretNames.contains(name) || SecretFields.tells(name)
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(Substring(rest.prefix(2)), radix: 16), rest.count >= 2 {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func withoutUserInformation(_ url: String) -> String {
        var url = url
        // The user's name may be an address, with an @ of its own.
        while let range = userInformation(of: url) { url = without(range, url) }
        return url
    }

    /// The place of user information with its @, also where the URL is none: what stands before an @ may be a password.
    private static func userInformation(of url: String) -> ClosedRange<String.Index>? {
        let (start, hasScheme) = authorityStart(url)
        let authority = url[start...].prefix(beforeBytes: "/?#")
        if let at = authority.lastIndex(ofByte: "@") { return start...at }
        // What looks like a port may be the beginning of a password, with a mark in it that should have been encoded.
        let isLiteral = authority.hasBytePrefix("[") && authority.utf8.last == UInt8(ascii: "]")
        guard !isLiteral, let colon = authority.lastIndex(ofByte: ":") else { return nil }
        let port = authority.utf8[colon...].dropFirst()
        guard !port.allSatisfy({ 0x30...0x39 ~= $0 }) || (port.isEmpty && !hasScheme),
            let at = url[start...].lastIndex(ofByte: "@")
        else { return nil }
        return start...at
    }

    /// The place where the authority begins, or would if a scheme stood before it.
    private static func authorityStart(_ url: String) -> (start: String.Index, hasScheme: Bool) {
        var rest = url.utf8[...]
        // A scheme that is mistyped is one too, but not what stands before a mark of another part of the URL.
        let mark = rest.firstIndex { ":/?#@".utf8.contains($0) }
        let hasScheme = mark.map { rest[$0...].starts(with: "://".utf8) } ?? false
        if hasScheme, let mark { rest = rest[rest.index(after: mark)...] }
        return (rest.drop { $0 == UInt8(ascii: "/") }.startIndex, hasScheme)
    }

    /// A URL without the bytes from one place to another, the last of which is an ASCII character.
    private static func without(_ range: ClosedRange<String.Index>, _ url: String) -> String {
        String(url[..<range.lowerBound]) + url[url.utf8.index(after: range.upperBound)...]
    }
}
