/// Takes the secrets out of a URL for messages.
enum URLRedaction {
    private static let secretNames: Set<String> = [
        "auth", "awsaccesskeyid", "code", "jwt", "key", "pass", "pwd", "session", "sid", "sig",
    ]

    /// The URL without user information and fragment, and with `REDACTED` for query values whose names say that they are
    /// secret.
    static func redact(_ url: String) -> String {
        var result = withoutUserInformation(String(url.prefix { $0 != "#" }))
        guard let mark = result.firstIndex(of: "?") else { return result }
        let query = result[result.index(after: mark)...]
        result.replaceSubrange(result.index(after: mark)..., with: redactItems(query))
        return result
    }

    /// The items of a query or of a URL-encoded form, with `REDACTED` for the values of secret ones.
    static func redactItems(_ items: Substring) -> String {
        items.split(separator: "&", omittingEmptySubsequences: false).map { item -> Substring in
            guard let equals = item.firstIndex(of: "="), isSecret(item[..<equals]) else { return item }
            return item[...equals] + "REDACTED"
        }.joined(separator: "&")
    }

    /// Whether a URL has a user or a password.
    static func hasUserInformation(_ url: String) -> Bool {
        let url = String(url.prefix { $0 != "#" })
        return withoutUserInformation(url) != url
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
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" }
        if let at = authority.lastIndex(of: "@") {
            return String(url[..<start]) + String(url[url.index(after: at)...])
        }
        // What looks like a port may be the beginning of a password, with a slash in it that should have been encoded.
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].dropFirst().allSatisfy(\.isWholeNumber),
            !authority.hasSuffix("]"), let at = url[start...].lastIndex(of: "@")
        else { return url }
        return String(url[..<start]) + String(url[url.index(after: at)...])
    }
}
