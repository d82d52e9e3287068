import CurlEngine

/// Credentials by origin: each is sent to its own scheme, host and port, and nowhere else.
///
/// ```swift
/// var credentials = OriginCredentials()
/// try credentials.set(.bearer(token), for: "https://api.example.com")
/// try credentials.set(.basic(username: "ada", password: password), for: "http://localhost:8080")
/// configuration.steps.adapters.append(credentials)
/// ```
///
/// A credential that no field can hold, because it has control characters in it, is an error of kind
/// ``TrellisError/Kind/invalidRequest``, and nothing is sent.
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own. A relative URL is completed
/// with the session's base URL before any adapter sees it.
///
/// Redirects: an adapter runs before an attempt, and so the credentials are those of the origin that was asked first. A
/// redirect within it keeps them. One to another origin drops them, and does not add those of the other origin, even if there
/// are any.
public struct OriginCredentials: RequestAdapter, RedactedDescription {
    private var everywhere: HTTPCredential?
    private var byOrigin: [String: HTTPCredential] = [:]
    private let targets = CredentialTargets()

    /// None.
    public init() {}

    init(everywhere credential: HTTPCredential) { everywhere = credential }

    /// Sets the credential of an origin, or takes it away.
    ///
    /// - Parameter origin: A URL whose scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` where it has none; what the URL's own conversion
    ///   throws.
    public mutating func set(_ credential: HTTPCredential?, for origin: some URLConvertible) throws {
        byOrigin[try CredentialTargets.origin(of: origin)] = credential
    }

    /// The request with the credential of its origin.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request { authenticated(request) }

    func authenticated(_ request: Request) -> Request {
        if let everywhere {
            // Also of URLs that cannot be read here.
            let hasItsOwn =
                request.headerFields.contains(.authorization) || URLRedaction.hasUserInformation(request.url)
            return hasItsOwn ? request : everywhere.added(to: request)
        }
        guard let url = targets.target(of: request), url.user == nil, let credential = byOrigin[url.origin] else {
            return request
        }
        return credential.added(to: request)
    }
}
