/// A credential that authenticates requests and that can be renewed, for example an OAuth 2.0 access token with its refresh
/// token.
///
/// ```swift
/// struct OAuthCredential: AuthenticationCredential {
///     let accessToken, refreshToken: String
///     let expiration: Date
///     var requiresRefresh: Bool { expiration.timeIntervalSinceNow < 60 }
/// }
/// ```
///
/// Descriptions never show the contents of a credential, see ``RedactedDescription``.
public protocol AuthenticationCredential: Sendable, RedactedDescription {
    /// Indicates whether the credential must be renewed before another request is sent with it: because it has expired, or soon
    /// will.
    ///
    /// A credential that a refresh returns and that requires another refresh at once (the clocks differ, or the server issues
    /// shorter lifetimes than the margin) is used nevertheless, because no better one exists.
    var requiresRefresh: Bool { get }
}
