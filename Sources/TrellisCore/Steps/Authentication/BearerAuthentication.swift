/// An adapter that sends a token with requests (RFC 6750).
///
/// ```swift
/// configuration.authentication = try .bearer(token, origin: "https://api.example.com")
/// ```
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own credentials. For a token that is
/// renewed, use ``AuthenticationInterceptor``.
public struct BearerAuthentication: RequestAdapter, RedactedDescription {
    private let credentials: OriginCredentials

    /// Creates an adapter that adds the token to every request, regardless of its origin. For a single request, or for a session
    /// whose requests all go to one party; other parties would learn the token.
    public init(token: String) {
        credentials = OriginCredentials(everywhere: .bearer(token))
    }

    /// Creates an adapter that adds the token to the requests to one origin.
    ///
    /// - Parameters:
    ///   - token: The token, without `Bearer`.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public init(token: String, origin: some URLConvertible) throws {
        var credentials = OriginCredentials()
        try credentials.set(.bearer(token), for: origin)
        self.credentials = credentials
    }

    /// Returns the request with the token.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        credentials.adaptAtOnce(request, context: context)
    }
}

extension BearerAuthentication: ImmediateAdapter {
    func adaptAtOnce(_ request: Request, context: CallContext) throws -> Request {
        credentials.adaptAtOnce(request, context: context)
    }
}
