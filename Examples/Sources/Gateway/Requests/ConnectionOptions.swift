import HTTPTypes

/// The fields of a message that concern the connection and not the message, so that they are not passed on (RFC 9110, section 7.6.1).
struct ConnectionOptions {
    /// The names that `Connection` lists, in lower case.
    let names: Set<String>

    /// The names of such fields that need not be listed.
    private static let known: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "http2-settings",
        "proxy-authenticate", "proxy-authorization", "proxy-authentication-info",
    ]

    init(_ fields: HTTPFields) {
        names = Set(fields.elements(of: .connection))
    }

    /// Returns whether a field concerns only the connection.
    func contains(_ name: HTTPField.Name) -> Bool {
        Self.known.contains(name.canonicalName) || names.contains(name.canonicalName)
    }
}
