import CurlEngine

/// Takes the secrets out of a URL for messages.
enum URLRedaction {
    private static let secretNames: Set<String> = [
        "auth", "awsaccesskeyid", "code", "jwt", "key", "pass", "pwd", "session", "sid", "sig",
    ]

    /// The URL without user information and fragment, and with `REDACTED` for query values whose names say that they are
    /// secret.
    static func redact(_ url: String) -> String {
        let result = withoutUserInformation(String(url.prefix(beforeBytes: "#")))
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
    static func hasUserInformation(_ url: String) -> Bool {
        let url = String(url.prefix(beforeBytes: "#"))
        return !withoutUserInformation(url).hasSameBytes(as: url)
    }

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
        // Also where the scheme is missing or mistyped: what stands before an @ may be a password.
        let start = url.utf8.firstRange(of: "://".utf8)?.upperBound ?? url.startIndex
        let authority = url[start...].prefix(beforeBytes: "/?")
        if let at = authority.lastIndex(ofByte: "@") { return without(start...at, url) }
        // What looks like a port may be the beginning of a password, with a slash in it that should have been encoded.
        guard let colon = authority.lastIndex(ofByte: ":"),
            !authority.utf8[colon...].dropFirst().allSatisfy({ (0x30...0x39).contains($0) }),
            authority.utf8.last != UInt8(ascii: "]"), let at = url[start...].lastIndex(ofByte: "@")
        else { return url }
        return without(start...at, url)
    }

    /// A URL without the bytes from one place to another, the last of which is an ASCII character.
    private static func without(_ range: ClosedRange<String.Index>, _ url: String) -> String {
        String(url[..<range.lowerBound]) + url[url.utf8.index(after: range.upperBound)...]
    }
}
