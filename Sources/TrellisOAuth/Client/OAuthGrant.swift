public import TrellisCore

/// A way to a token (RFC 6749, section 1.3).
///
/// | | for | asks a person |
/// |---|---|---|
/// | ``clientCredentials`` | a service that acts for itself | no |
/// | ``refreshToken(_:)`` | a program that has a refresh token | no |
/// | ``jwtBearer(_:)`` | a workload or service that another party vouches for | no |
/// | ``deviceCode(signsInAgain:show:)`` | a tool on a machine without a browser | yes |
/// | ``authorizationCode(signsInAgain:open:)`` | a tool on a machine with a browser | yes |
public struct OAuthGrant: Sendable, RedactedDescription {
    /// The kinds of grants.
    enum Kind: Sendable {
        case clientCredentials
        case refreshToken(String?)
        case jwtBearer(OAuthAssertion)
        case deviceCode(@Sendable (OAuthDeviceCode) async throws -> Void)
        case authorizationCode(@Sendable (String) async throws -> Void)
    }

    let kind: Kind
    /// Whether a person is asked to sign in again when the refresh token is refused.
    let signsInAgain: Bool

    private init(_ kind: Kind, signsInAgain: Bool = true) {
        self.kind = kind
        self.signsInAgain = signsInAgain
    }

    /// Whether a person is asked.
    var isInteractive: Bool {
        switch kind {
        case .deviceCode, .authorizationCode: true
        case .clientCredentials, .refreshToken, .jwtBearer: false
        }
    }

    /// The client's own credentials (RFC 6749, section 4.4).
    public static let clientCredentials = OAuthGrant(.clientCredentials)

    /// A refresh token (RFC 6749, section 6). A newer one that the server returns with a token takes its place.
    ///
    /// - Parameter token: The first refresh token; `nil` if the ``OAuthAuthenticator/store`` has one.
    public static func refreshToken(_ token: String? = nil) -> OAuthGrant {
        OAuthGrant(.refreshToken(token), signsInAgain: false)
    }

    /// An assertion about the user or the workload (RFC 7523, section 2.1).
    public static func jwtBearer(_ assertion: OAuthAssertion) -> OAuthGrant { OAuthGrant(.jwtBearer(assertion)) }

    /// A code that a person enters on another device (RFC 8628).
    ///
    /// - Parameters:
    ///   - signsInAgain: Whether a person is asked again when the server refuses the refresh token. `false` by default: the calls fail with
    ///     the server's ``OAuthRefusal``.
    ///   - show: Shows the code and the URL to a person, and returns. What it throws ends the refresh.
    public static func deviceCode(
        signsInAgain: Bool = false, show: @escaping @Sendable (OAuthDeviceCode) async throws -> Void
    ) -> OAuthGrant { OAuthGrant(.deviceCode(show), signsInAgain: signsInAgain) }

    /// A code that the browser of a person brings to a port of this machine (RFC 6749, section 4.1; RFC 8252; PKCE, RFC 7636).
    ///
    /// - Parameters:
    ///   - signsInAgain: Whether a person is asked again when the server refuses the refresh token. `false` by default: the calls fail with
    ///     the server's ``OAuthRefusal``.
    ///   - open: Opens a URL in a browser, and returns. What it throws ends the refresh.
    public static func authorizationCode(
        signsInAgain: Bool = false, open: @escaping @Sendable (_ url: String) async throws -> Void
    ) -> OAuthGrant { OAuthGrant(.authorizationCode(open), signsInAgain: signsInAgain) }
}

/// A code that a person enters on another device (RFC 8628, section 3.2).
public struct OAuthDeviceCode: Sendable, Hashable {
    /// The code to enter. Control characters of the server are escaped.
    public let userCode: String
    /// The URL of the page where the code is entered.
    public let url: String
    /// The URL of the page with the code filled in, such as for a QR code, if any.
    public let completeURL: String?
    /// The time within which the code must be entered.
    public let lifetime: Duration
}

extension OAuthDeviceCode: RedactedDescription {}
