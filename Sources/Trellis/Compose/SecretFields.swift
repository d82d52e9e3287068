import HTTPTypes

/// Tells which fields hold secrets.
enum SecretFields {
    private static let names: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "apikey", "x-auth",
    ]
    private static let parts = [
        "token", "secret", "password", "passwd", "apikey", "api-key", "signature", "credential",
    ]

    /// Whether the name of a field says that its value is a secret.
    static func isSecret(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return names.contains(name) || parts.contains { name.contains($0) }
    }

    /// The value without its secret; the scheme of credentials (RFC 9110, section 11.4) stays.
    static func redacted(_ field: HTTPField) -> String {
        guard isSecret(field.name) else { return field.value }
        guard field.name == .authorization || field.name == .proxyAuthorization else { return "REDACTED" }
        let words = field.value.split(separator: " ", maxSplits: 1)
        return words.count == 2 ? "\(words[0]) REDACTED" : "REDACTED"
    }
}
