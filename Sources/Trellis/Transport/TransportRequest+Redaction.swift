package import HTTPTypes

/// The parts of a request without their secrets, for the messages of test transports.
extension TransportRequest {
    /// The URL without user information, and with `REDACTED` for query values whose names indicate a secret.
    package var redactedURL: String { URLRedaction.redact(url) }

    /// Returns the value of a field without its secrets.
    package static func redactedValue(of field: HTTPField) -> String { SecretFields.redacted(field) }

    /// Returns the items of a query or of a URL-encoded form with `REDACTED` for the values of secret items.
    package static func redactedItems(_ items: String) -> String {
        String(decoding: URLRedaction.redactItems(items.utf8), as: UTF8.self)
    }

    /// Returns `true` if the name of an item, or of a field in a body, indicates that its value is a secret.
    package static func isSecret(_ name: String) -> Bool { URLRedaction.isSecret(name[...]) }
}
