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
    /// A credential that comes from a refresh and requires another refresh from the start (the clocks differ, or the server gives
    /// out shorter lifetimes than the margin) is used all the same, because there is no better one.
    var requiresRefresh: Bool { get }
}
