import CurlEngine
import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// An authenticator that gets its tokens from an authorization server (OAuth 2.0, RFC 6749), for an ``/Trellis/AuthenticationInterceptor``.
///
/// ```swift
/// let oauth = try OAuthAuthenticator(
///     .tokenEndpoint("https://id.example.com/token"), client: OAuthClient(id: "reports", secret: secret),
///     grant: .clientCredentials, origin: "https://api.example.com")
/// configuration.authentication = .oauth(oauth)
/// ```
///
/// The requests to the ``origins`` get the token, and no other request: not through a redirect, and not with another base URL. A request
/// with an `Authorization` field or with a name in its URL keeps its own credentials.
///
/// Calls wait for the first token, and for a renewal. One request to the server serves them all, and costs none of them a retry. The
/// article "OAuth" has the grants and the rules.
public struct OAuthAuthenticator: Authenticator, RedactedDescription {
    /// The authorization server.
    public let server: OAuthServer
    /// The client that asks for tokens.
    public let client: OAuthClient
    /// The way to a token.
    public let grant: OAuthGrant
    /// The origins that get the token: scheme, host and any port other than the scheme's default.
    public private(set) var origins: Set<String>
    /// The names of the scope to ask for; the server's default if there are none.
    public var scope: [String] = []
    /// The resources that the token is for, as URLs (RFC 8707). None by default.
    public var resources: [String] = []
    /// The audience that the token is for, as some servers name it in a parameter `audience`. None by default.
    public var audience: String?
    /// The time at which a token is renewed ahead of its expiry.
    public var renewal = OAuthRenewal()
    /// The longest time for a request to the authorization server, with its retries; 30 seconds by default.
    public var requestTimeout = Duration.seconds(30)
    /// The longest time that a person may take to sign in, 10 minutes by default. A device code may end earlier.
    public var signInTimeout = Duration.seconds(600)
    /// The store that keeps the token for other processes and the next start; in memory alone if `nil`, the default.
    public var store: (any OAuthTokenStore)?
    /// A function that is told when a new token could not be stored. The token is used nevertheless.
    public var didFailToStore: (@Sendable (any Error) -> Void)?

    /// The endpoints that were found.
    let discovered = DiscoveredEndpoints()
    /// The tokens that were replaced.
    let replaced = ReplacedTokens()
    /// The present instant.
    let now: @Sendable () -> Date
    /// Returns a number from 0 up to 1.
    let random: @Sendable () -> Double
    private let urls = WireURLCache()

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - server: The authorization server.
    ///   - client: The client that asks for tokens.
    ///   - grant: The way to a token.
    ///   - origin: A URL of the API; its scheme, host and port count.
    /// - Throws: ``OAuthError/missingOrigin(url:)`` if the URL is no absolute http or https URL.
    public init(
        _ server: OAuthServer, client: OAuthClient, grant: OAuthGrant, origin: some URLConvertible
    ) throws {
        try self.init(
            server, client: client, grant: grant, origin: origin, now: { Date() }, random: { .random(in: 0..<1) })
    }

    /// Creates an authenticator with another clock and other random numbers.
    package init(
        _ server: OAuthServer, client: OAuthClient, grant: OAuthGrant, origin: some URLConvertible,
        now: @escaping @Sendable () -> Date, random: @escaping @Sendable () -> Double
    ) throws {
        self.server = server
        self.client = client
        self.grant = grant
        self.now = now
        self.random = random
        origins = [try Self.origin(of: origin)]
    }

    /// Adds an origin that gets the same token.
    ///
    /// - Throws: As the initializer.
    public mutating func add(origin: some URLConvertible) throws { origins.insert(try Self.origin(of: origin)) }

    private static func origin(of url: some URLConvertible) throws -> String {
        let text = try url.asURLString()
        do throws(WireURL.ParseFailure) { return try WireURL(parsing: text).origin } catch {
            throw OAuthError.missingOrigin(url: ShownText.url(text))
        }
    }

    /// Returns the credential with a token, or the one without, with which the first call gets a token.
    public func credential(_ token: OAuthToken? = nil) -> OAuthCredential {
        let now = now()
        let expiration = token?.expiration
        return OAuthCredential(
            token, renewal: expiration.map { renewal.renewal(expiring: $0, now: now, random: random()) }, now: self.now)
    }

    // MARK: Requests

    /// Returns whether a request goes to one of the ``origins`` and has no credentials of its own.
    public func authenticates(_ request: Request) -> Bool {
        !request.headers.contains(.authorization) && isOurs(request)
    }

    private func isOurs(_ request: Request) -> Bool {
        guard let url = try? urls.url(parsing: request.url), url.user == nil, url.password == nil else { return false }
        return origins.contains(url.origin)
    }

    /// Adds the token to a request to one of the ``origins``.
    ///
    /// - Throws: ``/Trellis/AuthenticationError/missingCredential`` if there is no token.
    public func apply(_ credential: OAuthCredential, to request: inout Request) throws {
        guard authenticates(request) else { return }
        guard let token = credential.token else { throw AuthenticationError.missingCredential }
        request = request.withAuthorization(bearerToken: token.accessToken)
    }

    /// Returns whether the status is 401, and remembers where the resource's metadata is (RFC 9728, section 5.1).
    public func didRequest(
        _ request: Request, with response: Response, failDueToAuthenticationError error: (any Error)?
    ) -> Bool {
        guard response.status.code == 401 else { return false }
        if isOurs(request) { discovered.note(response.authenticationChallenges) }
        return true
    }

    /// Returns whether a request was sent with the token of a credential.
    public func isRequest(_ request: Request, authenticatedWith credential: OAuthCredential) async -> Bool {
        guard let token = credential.token, let field = request.headers[.authorization] else { return false }
        return field.hasSameBytes(as: "Bearer \(token.accessToken)")
    }
}
