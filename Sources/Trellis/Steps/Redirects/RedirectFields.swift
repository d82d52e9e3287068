import HTTPTypes

/// The fields that are not sent along with a redirect.
enum RedirectFields {
    private static let ofBody: Set<String> = [
        "transfer-encoding", "digest", "repr-digest", "trailer", "expect", "idempotency-key",
    ]
    private static let ofOrigin: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "host", "origin", "referer",
    ]

    /// Returns whether a field describes the body, so that without a body it would say nothing, or something wrong: the fields of
    /// RFC 9110, sections 8.3 to 8.7, 6.6.2 and 10.1.1, of RFC 9530, and the idempotency key of the request that is replaced.
    static func describesBody(_ field: HTTPField) -> Bool {
        let name = field.name.canonicalName
        return name.hasPrefix("content-") || ofBody.contains(name)
    }

    /// Returns whether a field was written for one origin (RFC 9110, section 15.4), or is a secret by its name or its mark.
    static func isBoundToOrigin(_ field: HTTPField) -> Bool {
        ofOrigin.contains(field.name.canonicalName) || SecretFields.isSecret(field)
    }
}
