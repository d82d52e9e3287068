/// Sends a token with requests (RFC 6750).
///
/// ```swift
/// configuration.steps.adapters.append(
///     try BearerAuthentication(token: token, origin: "https://api.example.com"))
/// ```
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own.
/// For a token that is renewed there is ``AuthenticationInterceptor``.
public struct BearerAuthentication: RequestAdapter, RedactedDescription {
    private let credentials: OriginCredentials

    /// Credentials for every request that this is an adapter of, wherever it goes. For a single request, or for a session whose
    /// requests all go to one party; the others would learn the token.
    public init(token: String) {
        credentials = OriginCredentials(everywhere: .bearer(token))
    }

    /// Credentials for the requests to one origin.
    ///
    /// - Parameter origin: A URL whose scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` where it has none.
    public init(token: String, origin: some URLConvertible) throws {
        var credentials = OriginCredentials()
        try credentials.set(.bearer(token), for: origin)
        self.credentials = credentials
    }

    /// The request with the credentials.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        credentials.authenticated(request)
    }
}
