import HTTPTypes

/// The fields after a body that are passed on, in both directions (RFC 9110, section 6.5).
enum TrailerFields {
    /// The names, in lower case, of fields that must not be trailers, because they concern the framing, the routing, the authentication or
    /// the content of a message, which a recipient needs before the body (RFC 9110, section 6.5.1).
    private static let forbidden: Set<String> = [
        "authorization", "cache-control", "content-encoding", "content-length", "content-range", "content-type",
        "cookie", "expect", "host", "max-forwards", "pragma", "range", "trailer",
    ]

    /// Returns the fields that may be trailers, without those that concern the connection.
    ///
    /// - Parameter head: The fields of the head, whose `Connection` may name trailers.
    static func passed(_ fields: HTTPFields, behind head: HTTPFields) -> HTTPFields {
        let (own, options) = (ConnectionOptions(fields), ConnectionOptions(head))
        return fields.filter { field in
            !own.contains(field.name) && !options.contains(field.name)
                && !forbidden.contains(field.name.canonicalName)
        }
    }
}
