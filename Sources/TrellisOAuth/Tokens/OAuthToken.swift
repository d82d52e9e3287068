import CurlEngine
public import FoundationEssentials
public import TrellisCore

/// An access token with what belongs to it (RFC 6749, section 5.1). Descriptions show nothing of it.
public struct OAuthToken: Sendable, Hashable, RedactedDescription {
    /// The token that requests are sent with.
    public var accessToken: String
    /// The instant at which the token expires; `nil` if the server did not say, so that it is used until it is refused.
    public var expiration: Date?
    /// The token that gets the next access token, if any.
    public var refreshToken: String?
    /// The scope that was granted, as names with spaces between; `nil` if the server did not say, so that it is the one that was asked for.
    public var scope: String?
    /// The issuer that the token is from, if the server was found by its metadata. No other one gets the ``refreshToken``.
    public var issuer: String?

    /// Creates a token.
    public init(
        _ accessToken: String, expiration: Date? = nil, refreshToken: String? = nil, scope: String? = nil,
        issuer: String? = nil
    ) {
        self.accessToken = accessToken
        self.expiration = expiration
        self.refreshToken = refreshToken
        self.scope = scope
        self.issuer = issuer
    }

    /// Returns the refresh token, if any, for a server with an issuer; `nil` for another server than the token's (RFC 6749, section 10.4).
    func refreshToken(for issuer: String?) -> String? {
        guard let issuer, let ours = self.issuer else { return refreshToken }
        return ours.hasSameBytes(as: issuer) ? refreshToken : nil
    }

    /// Returns whether the token has expired.
    func isExpired(at now: Date) -> Bool { expiration.map { $0 <= now } ?? false }
}
