public import TrellisCore

/// The client that asks for tokens, as the authorization server has registered it (RFC 6749, section 2).
///
/// ```swift
/// let client = OAuthClient(id: "reports", secret: secret)
/// ```
public struct OAuthClient: Sendable, RedactedDescription {
    /// A proof that a request comes from the client (RFC 6749, section 2.3).
    public enum Authentication: Sendable, RedactedDescription {
        /// No proof: a public client, such as a tool on a user's machine (`none`).
        case none
        /// The secret in the `Authorization` field, form-encoded as RFC 6749 asks (`client_secret_basic`).
        case secretBasic(String)
        /// The secret in the form, for servers that know no other way (`client_secret_post`).
        case secretPost(String)
        /// A signed assertion in the form (`private_key_jwt`; RFC 7523, section 2.2), also the token of a workload.
        case assertion(OAuthAssertion)
    }

    /// The identifier of the client.
    public var id: String
    /// The proof that requests come from the client.
    public var authentication: Authentication

    /// Creates a client.
    public init(id: String, authentication: Authentication = .none) {
        self.id = id
        self.authentication = authentication
    }

    /// Creates a client with a secret, which it sends in the `Authorization` field.
    public init(id: String, secret: String) { self.init(id: id, authentication: .secretBasic(secret)) }
}
