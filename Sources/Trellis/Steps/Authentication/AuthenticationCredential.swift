/// What requests are authenticated with and what can be renewed: an OAuth 2.0 access token with its refresh token, say.
///
/// ```swift
/// struct OAuthCredential: AuthenticationCredential {
///     let accessToken, refreshToken: String
///     let expiration: Date
///     var requiresRefresh: Bool { expiration.timeIntervalSinceNow < 60 }
/// }
/// ```
///
/// It never tells its contents, see ``RedactedDescription``.
public protocol AuthenticationCredential: Sendable, RedactedDescription {
    /// Whether the credential is to be renewed before another request goes out with it: because it has expired, or soon will.
    ///
    /// A credential that comes from a refresh and says so from the start (the clocks differ, or the server gives out shorter
    /// lives than the margin) is used all the same: there is nothing better to be had.
    var requiresRefresh: Bool { get }
}
