/// An adapter that sends a name and a password with requests (RFC 7617), without waiting for a challenge.
///
/// ```swift
/// configuration.authentication = try .basic("ada", password, origin: "https://api.example.com")
/// ```
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own credentials.
public struct BasicAuthentication: RequestAdapter, RedactedDescription {
    private let credentials: OriginCredentials

    /// Creates an adapter that adds the credentials to every request, regardless of its origin. For a single request, or for a
    /// session whose requests all go to one party; other parties would learn the password.
    public init(username: String, password: String) {
        credentials = OriginCredentials(everywhere: .basic(username: username, password: password))
    }

    /// Creates an adapter that adds the credentials to the requests to one origin.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public init(username: String, password: String, origin: some URLConvertible) throws {
        var credentials = OriginCredentials()
        try credentials.set(.basic(username: username, password: password), for: origin)
        self.credentials = credentials
    }

    /// Returns the request with the credentials.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        credentials.adaptAtOnce(request, context: context)
    }
}

extension BasicAuthentication: ImmediateAdapter {
    func adaptAtOnce(_ request: Request, context: CallContext) throws -> Request {
        credentials.adaptAtOnce(request, context: context)
    }
}
