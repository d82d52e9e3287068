import HTTPTypes

/// What a server is shown to know who asks, sent with each request. It never tells its contents.
public enum HTTPCredential: Sendable, Hashable, RedactedDescription {
    /// A name and a password in the clear (RFC 7617): over TLS only. The name cannot have a colon in it, and neither of them
    /// a control character.
    case basic(username: String, password: String)
    /// A token (RFC 6750), without control characters.
    case bearer(String)

    /// The request with it; one that fails when it is sent where that cannot be.
    func added(to request: Request) -> Request {
        switch self {
        case .basic(let username, let password): request.withAuthorization(username: username, password: password)
        case .bearer(let token): request.withAuthorization(bearerToken: token)
        }
    }
}
