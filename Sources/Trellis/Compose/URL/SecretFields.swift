import CurlEngine
import HTTPTypes

/// The rules that recognise names of secret fields and items.
enum SecretFields {
    /// The names of secret fields, in lower case.
    private static let names: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth", "dpop", "x-session",
    ]
    /// The texts in a name, in lower case with `-`, that mark its value as secret.
    private static let parts = [
        "token", "secret", "password", "passwd", "api-key", "apikey", "access-key", "accesskey", "subscription-key",
        "signature", "credential", "assertion", "session-id", "sessionid", "jwt",
    ]

    /// Returns `true` if the name of a field indicates that its value is a secret.
    static func isSecret(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return names.contains(name) || tells(name)
    }

    /// Returns `true` if a name, of a field or an item, indicates that its value is a secret.
    ///
    /// - Parameter name: The name in lower case; `_` and `-` are equivalent.
    static func tells(_ name: String) -> Bool {
        let name = name.replacing(byte: "_", with: "-")
        return parts.contains { name.containsBytes($0) }
    }

    /// Returns the value without its secret; the scheme of credentials (RFC 9110, section 11.4) is kept.
    static func redacted(_ field: HTTPField) -> String {
        guard isSecret(field.name) else { return field.value }
        guard field.name == .authorization || field.name == .proxyAuthorization else { return "REDACTED" }
        let words = field.value.split(atByte: " ", maxSplits: 1)
        return words.count == 2 ? "\(words[0]) REDACTED" : "REDACTED"
    }
}
