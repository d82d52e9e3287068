package import HTTPTypes

/// The parts of a request without their secrets, for the messages of test transports.
extension TransportRequest {
    /// The URL without user information, and with `REDACTED` for query values whose names indicate a secret.
    package var redactedURL: String { URLRedaction.redact(url) }

    /// Returns the value of a field without its secrets.
    package static func redactedValue(of field: HTTPField) -> String { SecretFields.redacted(field) }

    /// Returns a body without the secrets that it has by its type, and with `REDACTED` for the values of secret items, whatever its type.
    package static func redactedBody(_ body: String, type: String) -> String {
        String(decoding: URLRedaction.redactItems(BodyRedaction.excerpt(body, type: type).utf8), as: UTF8.self)
    }

    /// Returns `true` if the name of an item, or of a field in a body, indicates that its value is a secret.
    package static func isSecret(_ name: String) -> Bool { URLRedaction.isSecret(name[...]) }
}
