import HTTPTypes

/// What a server is shown to know who asks, sent with each request. It never tells its contents.
public enum HTTPCredential: Sendable, Hashable, RedactedDescription {
    /// A name and a password in the clear (RFC 7617): over TLS only. The name cannot have a colon in it.
    case basic(username: String, password: String)
    /// A token (RFC 6750).
    case bearer(String)

    var field: HTTPField {
        switch self {
        case .basic(let username, let password): .authorization(username: username, password: password)
        case .bearer(let token): .authorization(bearerToken: token)
        }
    }
}
