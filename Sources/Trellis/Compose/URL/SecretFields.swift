import CurlEngine
import HTTPTypes

/// Tells which fields hold secrets.
enum SecretFields {
    private static let names: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth", "dpop", "x-session",
    ]
    private static let parts = [
        "token", "secret", "password", "passwd", "api-key", "apikey", "access-key", "accesskey", "subscription-key",
        "signature", "credential", "assertion", "session-id", "sessionid", "jwt",
    ]

    /// Whether the name of a field says that its value is a secret.
    static func isSecret(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return names.contains(name) || tells(name)
    }

    /// Whether a name, of whatever, says that what it names is a secret.
    ///
    /// - Parameter name: In lowercase; `_` is as good as `-`.
    static func tells(_ name: String) -> Bool {
        let name = name.replacing(byte: "_", with: "-")
        return parts.contains { name.containsBytes($0) }
    }

    /// The value without its secret; the scheme of credentials (RFC 9110, section 11.4) stays.
    static func redacted(_ field: HTTPField) -> String {
        guard isSecret(field.name) else { return field.value }
        guard field.name == .authorization || field.name == .proxyAuthorization else { return "REDACTED" }
        let words = field.value.split(atByte: " ", maxSplits: 1)
        return words.count == 2 ? "\(words[0]) REDACTED" : "REDACTED"
    }
}
