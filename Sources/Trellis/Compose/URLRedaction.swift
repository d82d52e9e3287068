/// Takes the secrets out of a URL for messages.
enum URLRedaction {
    private static let secretNames: Set<String> = [
        "access_token", "api_key", "apikey", "auth", "awsaccesskeyid", "client_secret", "code", "key", "passwd",
        "password",
        "secret", "sig", "signature", "token", "x-amz-credential", "x-amz-security-token", "x-amz-signature",
        "x-goog-signature",
    ]

    /// The URL without user information, and with `REDACTED` for query values whose names say that they are secret.
    static func redact(_ url: String) -> String {
        var result = withoutUserInformation(url)
        guard let mark = result.firstIndex(of: "?") else { return result }
        let query = result[result.index(after: mark)...]
        let items = query.split(separator: "&", omittingEmptySubsequences: false).map { item -> Substring in
            guard let equals = item.firstIndex(of: "="), secretNames.contains(item[..<equals].lowercased()) else {
                return item
            }
            return item[...equals] + "REDACTED"
        }
        result.replaceSubrange(result.index(after: mark)..., with: items.joined(separator: "&"))
        return result
    }

    private static func withoutUserInformation(_ url: String) -> String {
        guard let slashes = url.firstRange(of: "://") else { return url }
        let rest = url[slashes.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return url }
        return String(url[..<slashes.upperBound]) + rest[rest.index(after: at)...]
    }
}
