/// A type that adds a credential to requests and renews the credential; an ``AuthenticationInterceptor`` decides when.
///
/// ```swift
/// struct OAuthAuthenticator: Authenticator {
///     func apply(_ credential: OAuthCredential, to request: inout Request) {
///         request = request.withAuthorization(bearerToken: credential.accessToken)
///     }
///
///     func refresh(_ credential: OAuthCredential, using session: RefreshSession) async throws -> OAuthCredential {
///         let request = try Request("https://id.example.com/token", method: .post)
///             .withParameters(["grant_type": "refresh_token", "refresh_token": credential.refreshToken], encoder: .json)
///         return try await session.decode(from: request)
///     }
/// }
/// ```
///
/// ``apply(_:to:)`` runs as a ``RequestAdapter`` does, and the decisions about a request run as a ``RequestRetrier`` does: on the
/// caller's thread or on the pool, and never on the session's thread. ``refresh(_:using:)`` runs on the pool.
public protocol Authenticator<Credential>: Sendable {
    /// The type of the credential that requests are authenticated with.
    associatedtype Credential: AuthenticationCredential

    /// Returns whether a request is to have the credential at all. The default implementation returns `true`.
    ///
    /// A request that is not to have it is sent as it is: it waits for no refresh, begins none, and needs no credential. Give the answer
    /// from the request alone, such as its URL, because the method is asked before each attempt.
    func authenticates(_ request: Request) -> Bool

    /// Adds the credential to a request. The interceptor of a session sees all requests of the session: if they go to more than
    /// one party, check the request's URL, or the other parties learn the credential. The refusal of a request that the method
    /// leaves as it is begins no refresh.
    ///
    /// - Throws: An error that keeps the request from being sent; the caller gets it unchanged.
    func apply(_ credential: Credential, to request: inout Request) async throws

    /// Renews a credential. Runs once for any number of requests that wait for the result, in a separate task: cancelling the
    /// request that began the refresh does not end the refresh.
    ///
    /// - Parameters:
    ///   - credential: The credential that has expired or was refused.
    ///   - session: The session of the call that began the refresh. Requests that are sent with it get no credential from
    ///     adapters and interceptors, do not wait for the refresh, and are sent while the session drains. The interceptor
    ///     ignores requests by the verbs of the ``Session`` itself, too, but the session's other steps do not, and a draining
    ///     session refuses them.
    /// - Throws: The error that all waiting requests fail with, unchanged.
    func refresh(_ credential: Credential, using session: RefreshSession) async throws -> Credential

    /// Returns whether a request failed because of its credential. The default implementation returns whether the status is 401.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response to the request.
    ///   - error: The error that a step made of the response; `nil` if no step refused the response.
    func didRequest(
        _ request: Request, with response: Response, failDueToAuthenticationError error: (any Error)?
    ) -> Bool

    /// Returns whether a request, as it was sent, was authenticated with this credential; if it was authenticated with another
    /// one, it is sent again with this one. The default implementation returns whether ``apply(_:to:)`` would leave the URL and
    /// the header fields as they are.
    func isRequest(_ request: Request, authenticatedWith credential: Credential) async -> Bool
}

extension Authenticator {
    /// Returns `true`: the credential is for every request.
    public func authenticates(_ request: Request) -> Bool { true }

    /// Returns whether the status is 401 (RFC 9110, section 15.5.2).
    public func didRequest(
        _ request: Request, with response: Response, failDueToAuthenticationError error: (any Error)?
    ) -> Bool {
        response.status.code == 401
    }

    /// Returns whether ``apply(_:to:)`` would leave the URL and the header fields as they are.
    public func isRequest(_ request: Request, authenticatedWith credential: Credential) async -> Bool {
        var again = request
        do { try await apply(credential, to: &again) } catch { return false }
        return again.url == request.url && Set(again.headers) == Set(request.headers)
    }
}

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
    /// Whether the credential must be renewed before another request is sent with it: because it has expired, or soon
    /// will.
    ///
    /// A credential that a refresh returns and that requires another refresh at once (the clocks differ, or the server issues
    /// shorter lifetimes than the margin) is used nevertheless, because no better one exists.
    var requiresRefresh: Bool { get }
}
