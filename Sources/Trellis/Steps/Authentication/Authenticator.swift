/// Knows how requests are authenticated with a credential and how one is renewed; an ``AuthenticationInterceptor`` knows when.
///
/// ```swift
/// struct OAuthAuthenticator: Authenticator {
///     func apply(_ credential: OAuthCredential, to request: inout Request) {
///         request = request.withAuthorization(bearerToken: credential.accessToken)
///     }
///
///     func refresh(_ credential: OAuthCredential) async throws -> OAuthCredential {
///         try await session.request("https://id.example.com/token", method: .post, parameters: […])
///             .validate().decoding(OAuthCredential.self)
///     }
/// }
/// ```
///
/// Everything here runs on the pool.
public protocol Authenticator<Credential>: Sendable {
    /// What requests are authenticated with.
    associatedtype Credential: AuthenticationCredential

    /// Adds the credential to a request. The interceptor of a session sees all its requests: where those go to more than one
    /// party, look at the request's URL, or the others learn the credential.
    ///
    /// - Throws: What keeps the request from being sent; the caller gets it unchanged.
    func apply(_ credential: Credential, to request: inout Request) async throws

    /// Renews a credential. Runs once for any number of requests that wait for it, in a task of its own: that the request
    /// which began it is cancelled does not end it.
    ///
    /// It may send its requests with the session that the interceptor belongs to: they go out without a credential, and the
    /// interceptor takes no notice of their answers.
    ///
    /// - Throws: What all requests that wait for it fail with, unchanged.
    func refresh(_ credential: Credential) async throws -> Credential

    /// Whether a request failed because of its credential. Unless implemented: whether the status is 401.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The answer to it.
    ///   - error: What a step made of the answer; `nil` for an answer as it came.
    func didRequest(
        _ request: Request, with response: Response, failDueToAuthenticationError error: (any Error)?
    ) -> Bool

    /// Whether a request, as it was sent, was authenticated with this credential; if it was with another one, it is sent again
    /// with this one. Unless implemented: whether ``apply(_:to:)`` would leave the URL and the header fields as they are.
    func isRequest(_ request: Request, authenticatedWith credential: Credential) async -> Bool
}

extension Authenticator {
    /// Whether the status is 401 (RFC 9110, section 15.5.2).
    public func didRequest(
        _ request: Request, with response: Response, failDueToAuthenticationError error: (any Error)?
    ) -> Bool {
        response.status.code == 401
    }

    /// Whether ``apply(_:to:)`` would leave the URL and the header fields as they are.
    public func isRequest(_ request: Request, authenticatedWith credential: Credential) async -> Bool {
        var again = request
        do { try await apply(credential, to: &again) } catch { return false }
        return again.url == request.url && Set(again.headerFields) == Set(request.headerFields)
    }
}
