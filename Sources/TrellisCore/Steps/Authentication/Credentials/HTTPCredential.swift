import HTTPTypes

/// A credential that identifies the user to a server, sent with each request. Descriptions never show its contents.
public enum HTTPCredential: Sendable, Hashable, RedactedDescription {
    /// A name and a password in the clear (RFC 7617), for use over TLS only. The name contains neither a colon nor
    /// a control character; the password may have any characters.
    case basic(username: String, password: String)
    /// A token (RFC 6750), without control characters.
    case bearer(String)

    /// Returns the request with the credential. A credential that no field can hold makes the request fail when it is sent.
    func added(to request: Request) -> Request {
        switch self {
        case .basic(let username, let password): request.withAuthorization(username: username, password: password)
        case .bearer(let token): request.withAuthorization(bearerToken: token)
        }
    }
}
