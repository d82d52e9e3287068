/// Sends a name and a password with requests (RFC 7617), without waiting to be asked for them.
///
/// ```swift
/// configuration.steps.adapters.append(
///     try BasicAuthentication(username: "ada", password: password, origin: "https://api.example.com"))
/// ```
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own.
public struct BasicAuthentication: RequestAdapter, RedactedDescription {
    private let credentials: OriginCredentials

    /// Credentials for every request that this is an adapter of, wherever it goes. For a single request, or for a session whose
    /// requests all go to one party; the others would learn the password.
    public init(username: String, password: String) {
        credentials = OriginCredentials(everywhere: .basic(username: username, password: password))
    }

    /// Credentials for the requests to one origin.
    ///
    /// - Parameter origin: A URL whose scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` where it has none.
    public init(username: String, password: String, origin: some URLConvertible) throws {
        var credentials = OriginCredentials()
        try credentials.set(.basic(username: username, password: password), for: origin)
        self.credentials = credentials
    }

    /// The request with the credentials.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        credentials.authenticated(request)
    }
}
